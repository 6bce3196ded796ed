// Timers in the order of their time: a 4-ary heap whose elements know their place, so that any can
// be taken out at once. Guests are elements that don't: they leave as the first and not otherwise,
// and their memory, which nobody may have touched for long, is left alone while others come and go.
//
// It takes no lock; its owner guards it. Its memory comes from the system, never from malloc, for
// it is used where malloc's lock may be held by a goroutine that waits for us.
#pragma once

#include "base/peek.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

// What the heap keeps in each element.
struct heap_place {
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  std::int64_t when_ns = 0;
  std::uint32_t index = nowhere;

  bool is_in_heap() const noexcept { return index != nowhere; }
};

class timer_heap {
 public:
  timer_heap() = default;
  timer_heap(const timer_heap&) = delete;
  timer_heap& operator=(const timer_heap&) = delete;
  ~timer_heap();

  bool is_empty() const noexcept { return size_ == 0; }
  // For figures, anybody may ask.
  std::uint32_t size() const noexcept { return base::peek(size_); }

  // The element that is due first; null when empty, or if that is a guest.
  heap_place* first() const noexcept { return size_ == 0 ? nullptr : entries_[0].place(); }
  void* first_guest() const noexcept { return size_ == 0 ? nullptr : entries_[0].guest(); }
  // When that is; not of an empty heap.
  std::int64_t first_when_ns() const noexcept { return entries_[0].when_ns; }

  // Makes room for one more. False if there is no memory; the heap is as it was.
  [[nodiscard]] bool reserve_one() noexcept;
  // Requires reserve_one() since the last insert, and that the element is in no heap.
  void insert(heap_place* place, std::int64_t when_ns) noexcept;
  // Likewise. Any pointer to something that is aligned to more than a byte.
  void insert_guest(void* guest, std::int64_t when_ns) noexcept;
  // Not of an empty heap.
  void pop_first() noexcept;
  // Require that the element is in this heap.
  void remove(heap_place* place) noexcept;
  // Moves it to another time.
  void move(heap_place* place, std::int64_t when_ns) noexcept;

 private:
  // The time is kept beside the pointer, so that sifting touches no element but to tell it its new
  // place.
  class entry {
   public:
    entry(std::int64_t when, heap_place* p) noexcept
        : when_ns(when), bits_(reinterpret_cast<std::uintptr_t>(p)) {}
    entry(std::int64_t when, void* guest) noexcept
        : when_ns(when), bits_(reinterpret_cast<std::uintptr_t>(guest) | of_guest) {}

    heap_place* place() const noexcept {
      return is_guest() ? nullptr : reinterpret_cast<heap_place*>(bits_);
    }
    void* guest() const noexcept {
      return is_guest() ? reinterpret_cast<void*>(bits_ & ~of_guest) : nullptr;
    }
    void tell(std::uint32_t index) const noexcept {
      if (!is_guest()) place()->index = index;
    }

    std::int64_t when_ns;

   private:
    static constexpr std::uintptr_t of_guest = 1;
    static_assert(alignof(heap_place) > of_guest);
    bool is_guest() const noexcept { return (bits_ & of_guest) != 0; }

    std::uintptr_t bits_;
  };
  static constexpr std::uint32_t arity = 4;
  // Entries left out at the start of the mapping, so that the children of one are one cache line.
  static constexpr std::uint32_t lead = arity - 1;
  static_assert(arity * sizeof(entry) == 64);

  void unmap() noexcept;
  void put(std::uint32_t index, entry e) noexcept {
    entries_[index] = e;
    e.tell(index);
  }
  void fill(std::uint32_t hole) noexcept;
  // By value, in two registers: by reference it would be written to memory in halves and read as a
  // whole, which no CPU forwards.
  void sift_up(std::uint32_t index, entry e) noexcept;
  void sift_down(std::uint32_t index, entry e) noexcept;

  entry* entries_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace sley::parts
