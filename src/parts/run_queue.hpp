// The queue of one processor: a bounded ring with one producer, its owner, and many consumers, the
// owner and thieves. From Go's runqput, runqget and runqgrab.
//
//   operation                 allowed callers
//   push, pop, take_half      the owner
//   pop_unshared              the owner, as long as there is no thief
//   steal_half_from(victim)   the owner of the thief's queue, which is empty
//   size                      any thread; the figure may be outdated at once
//
//   RQ-1  A consumer sees a pushed element: store_release(tail_) in push and steal_half_from <->
//         load_acquire(tail_) in steal_half_from.
//   RQ-2  A slot is read before it is written again: cas_acq_rel(head_) by a consumer after it has
//         read its slots <-> load_acquire(head_) in push before it writes a slot.
//   RQ-3  Never over capacity, nothing taken twice: indices only grow (they wrap at 2^32);
//         consumers claim slots by compare-and-swap of head_, and only the owner moves tail_.
//   Test: tests/model/run_queue_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

template <class T, std::uint32_t Capacity>
class run_queue {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "indices wrap at 2^32");

 public:
  static constexpr std::uint32_t half = Capacity / 2;

  // False if the ring is full: the element was not pushed.
  bool push(T* element) noexcept {
    const std::uint32_t tail = tail_.load_relaxed();        // own index
    const std::uint32_t head = head_.load_acquire("RQ-2");  // RQ-2: the slot has been read
    if (tail - head >= Capacity) return false;
    slot(tail).store_relaxed(element);
    tail_.store_release(tail + 1, "RQ-1");  // RQ-1: the slot is now visible to thieves
    return true;
  }

  // Pushes the elements that `next()` returns until it returns null. The caller ensures that there
  // is room. One store publishes all of them.
  template <class Next>
  void push_all(Next next) noexcept {
    std::uint32_t tail = tail_.load_relaxed();              // own index
    const std::uint32_t head = head_.load_acquire("RQ-2");  // RQ-2: the slots have been read
    while (T* element = next()) {
      SLEY_CHECK(tail - head < Capacity, "RQ-3: the ring is never over capacity");
      slot(tail++).store_relaxed(element);
    }
    tail_.store_release(tail, "RQ-1");  // RQ-1: the slots are now visible to thieves
  }

  // The oldest element; null when empty.
  T* pop() noexcept {
    std::uint32_t head = head_.load_relaxed();        // the cas decides
    const std::uint32_t tail = tail_.load_relaxed();  // own index
    while (head != tail) {  // ends: each failed cas means that a thief took an element
      T* element = slot(head).load_relaxed();
      if (head_.cas_acq_rel(head, head + 1, "RQ-2")) return element;
    }
    return nullptr;
  }

  // As pop, as long as no thread steals from the queue. Before one does, something else, such as
  // stopping the world, has ordered this before it.
  T* pop_unshared() noexcept {
    const std::uint32_t head = head_.load_relaxed();  // own index: no thief moves it
    if (head == tail_.load_relaxed()) return nullptr;
    T* element = slot(head).load_relaxed();
    head_.store_relaxed(head + 1);
    return element;
  }

  // Takes the older half of a full ring, to make room. Returns the number of elements; 0 if a thief
  // was faster, in which case there is room now.
  std::uint32_t take_half(T* (&out)[half]) noexcept {
    std::uint32_t head = head_.load_relaxed();        // the cas decides
    const std::uint32_t tail = tail_.load_relaxed();  // own index
    if (tail - head != Capacity) return 0;
    for (std::uint32_t i = 0; i < half; ++i) out[i] = slot(head + i).load_relaxed();
    return head_.cas_acq_rel(head, head + half, "RQ-2") ? half : 0;
  }

  // Moves half of the victim's elements (rounded up) to this queue and returns one of them to run
  // at once. Null if there was none. `stolen` is the number taken, the returned one included.
  T* steal_half_from(run_queue& victim, std::uint32_t& stolen) noexcept {
    const std::uint32_t tail = tail_.load_relaxed();  // own index
    // RQ-2: the consumer that took the last elements of this queue has read their slots.
    SLEY_CHECK(head_.load_acquire("RQ-2") == tail, "RQ-3: the queue of a thief is empty");
    stolen = victim.grab(*this, tail);
    if (stolen == 0) return nullptr;
    T* last = slot(tail + stolen - 1).load_relaxed();
    if (stolen > 1) tail_.store_release(tail + stolen - 1, "RQ-1");  // RQ-1: for the next thief
    return last;
  }

  std::uint32_t size() const noexcept {
    for (;;) {  // ends when the tail stands still for two loads
      const std::uint32_t head = head_.load_acquire("RQ-2");
      const std::uint32_t tail = tail_.load_acquire("RQ-1");
      if (tail - head <= Capacity) return tail - head;
    }
  }
  bool is_empty() const noexcept { return size() == 0; }
  // Owner only: at least this many elements fit.
  std::uint32_t room() const noexcept { return Capacity - size(); }

 private:
  detail::atomic<T*>& slot(std::uint32_t index) noexcept { return slots_[index % Capacity]; }

  // Copies half of the elements into the thief's slots from `to` on, then claims them.
  std::uint32_t grab(run_queue& thief, std::uint32_t to) noexcept {
    for (;;) {  // ends: each retry means that another consumer took an element
      std::uint32_t head = head_.load_acquire("RQ-2");
      const std::uint32_t tail = tail_.load_acquire("RQ-1");  // RQ-1: the slots below are visible
      const std::uint32_t available = tail - head;
      const std::uint32_t n = available - available / 2;
      if (n == 0) return 0;
      if (n > half) continue;  // head and tail were read at different moments
      for (std::uint32_t i = 0; i < n; ++i) {
        thief.slot(to + i).store_relaxed(slot(head + i).load_relaxed());
      }
      if (head_.cas_acq_rel(head, head + n, "RQ-2")) return n;
    }
  }

  static constexpr std::size_t line = 64;
  alignas(line) detail::atomic<std::uint32_t> head_;  // [atomic RQ-2, RQ-3] consumers
  alignas(line) detail::atomic<std::uint32_t> tail_;  // [atomic RQ-1] the owner
  detail::atomic<T*> slots_[Capacity];                // [atomic RQ-1, RQ-2]
};

}  // namespace sley::parts
