// Timers in deadline order: a 4-ary heap. An element stores its own index, so that it can be
// removed from the middle. A guest stores none: it can only be popped from the front, and the heap
// never touches its memory, which is probably cold.
//
// The heap takes no lock; its owner guards it. Its memory comes from the system and never from
// malloc, because a stopped goroutine may hold malloc's lock while the heap grows.
#pragma once

#include "base/peek.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

// The part of an element that the heap writes.
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
  // For figures. Any thread.
  std::uint32_t size() const noexcept { return base::peek(size_); }

  // The element or the guest that is due first. Each is null if the heap is empty or the other kind
  // is due first.
  heap_place* first() const noexcept { return size_ == 0 ? nullptr : entries_[0].place(); }
  void* first_guest() const noexcept { return size_ == 0 ? nullptr : entries_[0].guest(); }
  // The earliest deadline. Requires that the heap is not empty.
  std::int64_t first_when_ns() const noexcept { return entries_[0].when_ns; }

  // Makes room for one more element. False if there is no memory; the heap is unchanged then.
  [[nodiscard]] bool reserve_one() noexcept;
  // Requires a reserve_one() since the last insert, and that the element is in no heap.
  void insert(heap_place* place, std::int64_t when_ns) noexcept;
  // As insert(). The guest's address must be even.
  void insert_guest(void* guest, std::int64_t when_ns) noexcept;
  // Requires that the heap is not empty.
  void pop_first() noexcept;
  // remove() and move() require that the element is in this heap.
  void remove(heap_place* place) noexcept;
  // Gives the element another deadline.
  void move(heap_place* place, std::int64_t when_ns) noexcept;

 private:
  // The deadline is stored beside the pointer, so that sifting touches an element only to write its
  // new index.
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
  // Unused entries at the start of the mapping, so that the children of an entry share a cache
  // line.
  static constexpr std::uint32_t lead = arity - 1;
  static_assert(arity * sizeof(entry) == 64);

  void unmap() noexcept;
  void put(std::uint32_t index, entry e) noexcept {
    entries_[index] = e;
    e.tell(index);
  }
  void fill(std::uint32_t hole) noexcept;
  // The entry is passed by value, in two registers. By reference it would be written to memory in
  // halves and read as a whole, a pattern that no CPU forwards from its store buffer.
  void sift_up(std::uint32_t index, entry e) noexcept;
  void sift_down(std::uint32_t index, entry e) noexcept;

  entry* entries_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace sley::parts
