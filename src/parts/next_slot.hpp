// The goroutine that its processor runs next, before its queue: the one just made runnable (Go's
// runnext). The owner puts and takes; a thief may take what has been there for a while.
//
//   RN-1  The element is visible to who takes it: store_release or exchange_acq_rel in put <->
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
  // The owner: puts the element in front and returns the one that it displaces, or null.
  T* put(T* element) noexcept {
    if (slot_.load_relaxed() == nullptr) {  // RN-2
      slot_.store_release(element, "RN-1");
      return nullptr;
    }
    return slot_.exchange_acq_rel(element, "RN-1");
  }

  // The owner or a thief; null when empty.
  T* take() noexcept {
    if (slot_.load_relaxed() == nullptr) return nullptr;  // a hint: the exchange decides
    return slot_.exchange_acq_rel(nullptr, "RN-1");
  }

  bool is_empty() const noexcept { return slot_.load_relaxed() == nullptr; }

 private:
  detail::atomic<T*> slot_;  // [atomic RN-1, RN-2]
};

}  // namespace sley::parts
