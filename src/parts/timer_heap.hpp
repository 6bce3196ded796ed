// Timers in the order of their time: a 4-ary heap whose elements know their place, so that any can
// be taken out at once. It takes no lock; its owner guards it. Its memory comes from the system,
// never from malloc, for it is used where malloc's lock may be held by a goroutine that waits for
// us.
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

  // The element that is due first; null when empty.
  heap_place* first() const noexcept { return size_ == 0 ? nullptr : entries_[0].place; }

  // Makes room for one more. False if there is no memory; the heap is as it was.
  [[nodiscard]] bool reserve_one() noexcept;
  // Requires reserve_one() since the last insert, and that the element is in no heap.
  void insert(heap_place* place, std::int64_t when_ns) noexcept;
  // Requires that the element is in this heap.
  void remove(heap_place* place) noexcept;
  // Moves an element of this heap to another time.
  void move(heap_place* place, std::int64_t when_ns) noexcept;

 private:
  // The time is kept beside the pointer, so that sifting touches no element but those it moves.
  struct entry {
    std::int64_t when_ns;
    heap_place* place;
  };
  static constexpr std::uint32_t arity = 4;

  void put(std::uint32_t index, const entry& e) noexcept {
    entries_[index] = e;
    e.place->index = index;
  }
  void sift_up(std::uint32_t index, const entry& e) noexcept;
  void sift_down(std::uint32_t index, const entry& e) noexcept;

  entry* entries_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace sley::parts
