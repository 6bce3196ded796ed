// The slot in front of a processor's queue. It holds the goroutine that was made runnable last,
// which runs next (Go's runnext). The owner puts and takes; a thief may take an element that has
// been in the slot for a while.
//
//   RN-1  The taker sees the element complete: store_release or exchange_acq_rel in put <->
//         exchange_acq_rel in take.
//   RN-2  Only the owner makes the slot non-null. So the owner may store into an empty slot without
//         a read-modify-write: no thief changes null.
//   Test: tests/model/next_slot_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::parts {

template <class T>
class next_slot {
 public:
  // Owner only. Puts the element into the slot and returns the displaced element, or null.
  T* put(T* element) noexcept {
    if (slot_.load_relaxed() == nullptr) {  // RN-2
      slot_.store_release(element, "RN-1");
      return nullptr;
    }
    return slot_.exchange_acq_rel(element, "RN-1");
  }

  // Owner or thief. Null if the slot is empty.
  T* take() noexcept {
    if (slot_.load_relaxed() == nullptr) return nullptr;  // a hint: the exchange decides
    return slot_.exchange_acq_rel(nullptr, "RN-1");
  }

  bool is_empty() const noexcept { return slot_.load_relaxed() == nullptr; }

 private:
  detail::atomic<T*> slot_;  // [atomic RN-1, RN-2]
};

}  // namespace sley::parts
