// The slot in front of a processor's queue. It holds the goroutine that was made runnable last,
// which runs next (Go's runnext). The owner puts and takes; a thief may take an element that has
// been in the slot for a while. The owner pays for that with plain stores, the thief with a
// membarrier.
//
//   RN-1  The taker sees the element complete: store_release in put, or either store in replace <->
//         exchange_acq_rel in steal.
//   RN-2  Only the owner makes the slot non-null. So the owner may store into an empty slot without
//         a read-modify-write: no thief changes null.
//   RN-3  The owner replaces an element without a read-modify-write while no thief is there.
//           O replaces:  1 is_busy_ = true    2 read thieves_    3 read and write the slot
//           T steals:    4 thieves_ += 1      5 read is_busy_    6 exchange the slot
//           Bad: O reads no thief at 2 and T reads false at 5: both take the element.
//           So:  a compiler barrier between 1 and 2 (every replacement), a heavy one between 4 and
//                5. Either 2 sees 4, and O exchanges the slot as well, or 5 sees 1, and T takes
//                nothing. What went before is handed over by store_release (is_busy_ = false) in
//                replace <-> load_acquire in steal, and sub_acq_rel(thieves_) in steal <->
//                load_acquire in replace. Without membarrier the owner always finds a thief.
//   Test: tests/model/next_slot_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::parts {

template <class T>
class next_slot {
 public:
  next_slot() noexcept : thieves_(detail::barriers_are_symmetric ? 1 : 0) {}  // RN-3

  // Owner only. Puts the element into the slot and returns the displaced element, or null.
  T* put(T* element) noexcept {
    if (is_empty()) {  // RN-2
      slot_.store_release(element, "RN-1");
      return nullptr;
    }
    return replace(element);
  }

  // Owner only. Null if the slot is empty.
  T* take() noexcept { return is_empty() ? nullptr : replace(nullptr); }

  // Any thread but the owner's. Null if the slot is empty or the owner is using it.
  T* steal() noexcept {
    if (is_empty()) return nullptr;
    thieves_.add_acq_rel(1, "RN-3");
    detail::heavy_barrier("RN-3");
    const bool is_owners = is_busy_.load_acquire("RN-3");
    T* element = is_owners ? nullptr : slot_.exchange_acq_rel(nullptr, "RN-1");
    thieves_.sub_acq_rel(1, "RN-3");
    return element;
  }

  // Any thread. The answer may be outdated at once.
  bool is_empty() const noexcept { return slot_.load_relaxed() == nullptr; }

 private:
  // The element that was there; null if a thief was faster.
  T* replace(T* by) noexcept {
    is_busy_.store_relaxed(true);  // RN-3: the barriers order it
    detail::lightest_barrier("RN-3");
    T* before;
    if (__builtin_expect(thieves_.load_acquire("RN-3") == 0, 1)) {
      before = slot_.load_relaxed();  // the owner has put it there
      slot_.store_release(by, "RN-1");
    } else {
      before = slot_.exchange_acq_rel(by, "RN-1");
    }
    is_busy_.store_release(false, "RN-3");
    return before;
  }

  detail::atomic<T*> slot_;                // [atomic RN-1, RN-2]
  detail::atomic<std::uint32_t> thieves_;  // [atomic RN-3] that may be at the slot
  detail::atomic<bool> is_busy_;           // [atomic RN-3] the owner is at the slot
};

}  // namespace sley::parts
