// The queue of waiters inside the primitives of <sley/sync.hpp>.
//
//   WL-1  Who is in the list is parked once its lock is free, so who finds it there may wake it.
//   WL-2  Who was chosen, or has timed out, does not touch the list any more: a wake_ call removes
//         whom it chooses, and a timer whom it wakes. So the list may go when it has been chosen;
//         a timer is a moment later, see wait_until_unused().
#include <sley/detail/wait_list.hpp>

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "runtime/enter.hpp"
#include "runtime/scheduler.hpp"
#include "sync/timed_waiter.hpp"

#include <new>

namespace sley {

namespace detail {

void wait_list::push(list_waiter* w, bool first_in_line) noexcept {
  w->g = rt::current_machine()->g;
  w->previous = first_in_line ? nullptr : last_;
  w->next = first_in_line ? first_ : nullptr;
  (w->previous != nullptr ? w->previous->next : first_) = w;
  (w->next != nullptr ? w->next->previous : last_) = w;
}

void wait_list::remove(list_waiter* w) noexcept {
  (w->previous != nullptr ? w->previous->next : first_) = w->next;
  (w->next != nullptr ? w->next->previous : last_) = w->previous;
}

void wait_list::park(const char* reason, bool first_in_line) {
  list_waiter self;
  push(&self, first_in_line);
  rt::park_and_release(reason, lock_);  // WL-1
}

// Those whose timers were faster stay: the timers remove them, WL-2.
list_waiter* wait_list::choose() noexcept {
  for (list_waiter* w = first_; w != nullptr; w = w->next) {
    if (w->claim == nullptr || w->claim->claim()) {
      remove(w);
      w->is_chosen = true;
      return w;
    }
  }
  return nullptr;
}

bool wait_list::wake_one_and_release() noexcept {
  list_waiter* w = choose();
  lock_.release();
  if (w == nullptr) return false;
  rt::ready(w->g);
  return true;
}

void wait_list::wake_all_and_release() noexcept {
  rt::goroutine_list woken;
  while (list_waiter* w = choose()) woken.push_back(w->g);
  lock_.release();
  while (rt::goroutine* g = woken.pop_front()) rt::ready(g);
}

void wait_list::wait_until_unused() noexcept {
  rt::machine* m = rt::enter();
  for (bool is_used = true; is_used;) {  // ends: a timer that has claimed a waiter removes it next
    lock_.acquire();
    is_used = first_ != nullptr;
    lock_.release();
    if (is_used) platform::yield_thread();
  }
  rt::leave(m);
}

}  // namespace detail

namespace sync {

timed_waiter::timed_waiter(std::int64_t deadline_ns) {
  if (deadline_ns == rt::never) return;
  is_late_ = deadline_ns <= platform::now_ns();
  if (is_late_) return;
  claim_.start_arriving();
  node_.claim = &claim_;
  alarm_.fire = &time_out;
  alarm_.waiter = this;
  node_.g = rt::current_machine()->g;
  if (rt::add_timer(&alarm_, deadline_ns)) return;
  rt::leave();
  throw std::bad_alloc();
}

timed_waiter::~timed_waiter() { rt::remove_timer(&alarm_); }

bool timed_waiter::park(detail::wait_list& list, const char* reason, bool first_in_line) {
  if (is_late_) {
    list.guard().release();
    return false;
  }
  list_ = &list;
  list.push(&node_, first_in_line);
  rt::park(reason, &let_go, this);
  return node_.is_chosen;
}

// After the switch. Once the list's lock is free the waiter may be gone.
void timed_waiter::let_go(rt::goroutine* g, void* arg) noexcept {
  auto* self = static_cast<timed_waiter*>(arg);
  detail::wait_list& list = *self->list_;
  const bool is_parked = self->node_.claim == nullptr || self->claim_.commit();
  if (!is_parked) list.remove(&self->node_);
  list.guard().release();
  if (!is_parked) rt::ready(g);  // the timer was faster, and leaves it to us
}

// With its heap's lock held, for which the goroutine waits before it goes on.
rt::goroutine* timed_waiter::time_out(rt::timer* t, std::int64_t) noexcept {
  timed_waiter* self = static_cast<alarm*>(t)->waiter;
  if (self->claim_.claim_by_timer() != wake_claim::timeout::wake) return nullptr;
  detail::lock_guard guard(self->list_->guard());
  self->list_->remove(&self->node_);
  return self->node_.g;
}

}  // namespace sync
}  // namespace sley
