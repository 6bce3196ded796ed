// The queue of waiters inside the primitives of <sley/sync.hpp>.
#include <sley/detail/wait_list.hpp>

#include "runtime/enter.hpp"
#include "runtime/scheduler.hpp"

namespace sley::detail {

// On the stack of the goroutine that waits.
struct list_waiter {
  list_waiter* next = nullptr;  // [lock: the list's]
  rt::goroutine* g = nullptr;   // [const]
};

void wait_list::park(const char* reason, bool first_in_line) {
  list_waiter self;
  self.g = rt::current_machine()->g;
  if (first_ == nullptr) {
    first_ = last_ = &self;
  } else if (first_in_line) {
    self.next = first_;
    first_ = &self;
  } else {
    last_->next = &self;
    last_ = &self;
  }
  rt::park_and_release(reason, lock_);
}

void wait_list::wake_one_and_release() noexcept {
  list_waiter* w = first_;
  if (w != nullptr) first_ = w->next;
  lock_.release();
  if (w != nullptr) rt::ready(w->g);
}

void wait_list::wake_all_and_release() noexcept {
  list_waiter* w = first_;
  first_ = nullptr;
  lock_.release();
  while (w != nullptr) {
    list_waiter* next = w->next;  // w is gone once its goroutine runs
    rt::ready(w->g);
    w = next;
  }
}

}  // namespace sley::detail
