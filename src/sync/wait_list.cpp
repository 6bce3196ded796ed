// The queue of waiters inside the primitives of <sley/sync.hpp>.
//
//   WL-1  A waiter in the list without a claim is parked once the list's lock is free, so a waker
//         that finds it there may wake it. A waiter with a claim may still be on its way: the claim
//         says so.
//   WL-2  A chosen waiter does not touch the list any more, which may be gone: a wake_ call removes
//         the waiters that it chooses. It passes over waiters that have timed out. Their timers
//         remove these, or they remove themselves, a moment later, see wait_until_unused().
#include <sley/detail/wait_list.hpp>

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/contention.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/waited.hpp"
#include "sync/misuse.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_ender.hpp"

#include <algorithm>
#include <new>

namespace sley {

namespace detail {

namespace {

using result = sync::wake_claim::result;

// With anything but `wake` the waiter may be gone.
result claim(list_waiter* w) noexcept {
  return w->claim == nullptr ? result::wake : w->claim->claim_by_waker();
}

void append(chosen_waiters& chosen, list_waiter* w) noexcept {
  w->next = nullptr;
  (chosen.first == nullptr ? chosen.first : chosen.last->next) = w;
  chosen.last = w;
}

}  // namespace

bool wait_list::park(rt::wait reason, const void* object, bool first_in_line) {
  list_waiter self;
  self.g = rt::current_machine()->g;
  push(&self, first_in_line);
  rt::park_and_release(reason, object, lock_);  // WL-1
  return self.is_told;
}

bool wait_list::wake_one_and_release() noexcept {
  chosen_waiters chosen;
  const bool is_any_chosen = choose(1, chosen) == 1;
  release_and_wake(chosen);
  return is_any_chosen;
}

void wait_list::wake_all_and_release() noexcept {
  chosen_waiters chosen;
  choose(SIZE_MAX, chosen);
  release_and_wake(chosen);
}

std::size_t wait_list::choose(std::size_t count, chosen_waiters& chosen) noexcept {
  std::size_t left = count;
  for (list_waiter *w = first_, *next; w != nullptr && left > 0; w = next) {
    list_waiter* previous = w->previous;
    next = w->next;
    const result claimed = claim(w);
    if (claimed == result::lost) continue;
    unlink(previous, next);  // WL-2
    if (claimed == result::wake) append(chosen, w);
    --left;
  }
  return count - left;
}

void wait_list::release_and_wake(const chosen_waiters& chosen) noexcept {
  lock_.release();
  for (list_waiter *w = chosen.first, *next; w != nullptr; w = next) {
    next = w->next;  // w is gone once its goroutine runs
    rt::ready(w->g);
  }
}

void wait_list::push(list_waiter* w, bool first_in_line) noexcept {
  if (__builtin_expect(rt::mutex_profile.is_on(), 0)) note_begin(w, first_in_line);
  ++size_;
  w->previous = first_in_line ? nullptr : last_;
  w->next = first_in_line ? first_ : nullptr;
  (w->previous != nullptr ? w->previous->next : first_) = w;
  (w->next != nullptr ? w->next->previous : last_) = w;
}

void wait_list::remove(list_waiter* w) noexcept { unlink(w->previous, w->next); }

void wait_list::unlink(list_waiter* previous, list_waiter* next) noexcept {
  --size_;
  (previous != nullptr ? previous->next : first_) = next;
  (next != nullptr ? next->previous : last_) = previous;
}

// From Go's semaRoot: the first waiter in line has always the longest wait that is to be counted,
// and the last one the shortest, so their average stands for all. A waiter that comes back to the
// front was counted before.
void wait_list::note_begin(list_waiter* w, bool first_in_line) const noexcept {
  w->since_ns = first_in_line && first_ != nullptr ? first_->since_ns : platform::now_ns();
}

std::int64_t wait_list::take_delay() noexcept {
  if (first_ == nullptr) return 0;
  const std::int64_t now_ns = platform::now_ns();
  const auto wait_of = [now_ns](const list_waiter* w) {
    return w->since_ns == 0 ? 0 : std::max<std::int64_t>(now_ns - w->since_ns, 1);
  };
  const std::int64_t delay_ns = (wait_of(first_) + wait_of(last_)) * size_ / 2;
  // One waiter may be chosen now; both ends of what is left begin anew.
  for (list_waiter* w : {first_, first_->next, last_}) {
    if (w != nullptr) w->since_ns = now_ns;
  }
  return delay_ns;
}

// A thread where no goroutine is stopped may take the lock outside of the runtime. It does not
// enter, because that would end the pause between two run()s: a program that ends destroys its
// static objects.
void wait_list::wait_until_unused() noexcept {
  rt::machine* m = rt::is_in_user_code() ? rt::enter() : nullptr;
  for (bool is_used = true; is_used;) {  // ends: a timed-out waiter leaves the list next
    lock_.acquire();
    const bool is_misused = is_awaited();
    is_used = first_ != nullptr && !is_misused;
    lock_.release();
    if (is_misused)
      sync::destroyed_in_use(
          "sley: an object is destroyed while a goroutine or thread waits for it");
    if (is_used && m == nullptr) m = rt::enter();  // waiters may need the runtime to leave
    if (is_used) platform::yield_thread();
  }
  if (m != nullptr) rt::leave(m);
}

// Requires the lock. True if a waiter has not timed out.
bool wait_list::is_awaited() const noexcept {
  const list_waiter* w = first_;
  while (w != nullptr && w->claim != nullptr && w->claim->has_timed_out()) w = w->next;
  return w != nullptr;
}

}  // namespace detail

namespace sync {

timed_waiter::timed_waiter(detail::wait_limit limit) {
  node_.g = rt::current_machine()->g;
  node_.claim = &claim_;
  claim_.start_arriving();
  if (limit.ender != nullptr) {
    ender_ = limit.ender;
    ender_->attach(*this);
  }
  if (limit.deadline_ns == rt::never) return;
  if (limit.deadline_ns <= platform::now_ns()) {
    static_cast<void>(claim_.claim_by_timer());
    return;
  }
  alarm_.fire = &time_out;
  alarm_.waiter = this;
  if (rt::add_timer(&alarm_, limit.deadline_ns)) return;
  if (ender_ != nullptr) ender_->detach();
  rt::leave();
  throw std::bad_alloc();
}

timed_waiter::~timed_waiter() {
  if (ender_ != nullptr) ender_->detach();
  rt::remove_timer(&alarm_);
}

const void* timed_waiter::shown(const void* object) const noexcept {
  const bool ends_by_itself = ender_ != nullptr || alarm_.fire != nullptr;
  return ends_by_itself ? rt::waited::for_a_while(object) : object;
}

bool timed_waiter::park(detail::wait_list& list, rt::wait reason, const void* object,
                        bool first_in_line) {
  list_ = &list;
  list.push(&node_, first_in_line);
  platform::passes_order(&list.guard());
  platform::passes_order(&claim_);
  rt::park(reason, shown(object), &commit_and_release, this);
  platform::takes_order(&claim_);
  return !claim_.has_timed_out();
}

// After the switch. Once the list's lock is free the waiter may be gone, unless its timer was
// faster, which leaves the rest to us.
void timed_waiter::commit_and_release(rt::goroutine* g, void* arg) noexcept {
  auto* self = static_cast<timed_waiter*>(arg);
  detail::wait_list& list = *self->list_;
  const bool is_parked = self->claim_.commit();
  if (!is_parked) list.remove(&self->node_);
  list.guard().release();
  if (!is_parked) rt::ready(g);
}

void timed_waiter::get_in_line(detail::wait_list& list) noexcept {
  list_ = &list;
  list.push(&node_, false);
  list.guard().release();
}

bool timed_waiter::park_in_line(rt::wait reason, const void* object) noexcept {
  platform::passes_order(&claim_);
  rt::park(reason, shown(object), &commit, this);
  platform::takes_order(&claim_);
  return !claim_.has_timed_out();
}

// As above, but a waker may have been faster as well, and has removed it from the list.
void timed_waiter::commit(rt::goroutine* g, void* arg) noexcept {
  auto* self = static_cast<timed_waiter*>(arg);
  if (self->claim_.commit()) return;
  if (self->claim_.has_timed_out()) {
    detail::lock_guard guard(self->list_->guard());
    self->list_->remove(&self->node_);
  }
  rt::ready(g);
}

void timed_waiter::leave_line() noexcept {
  if (claim_.claim_by_timer() == wake_claim::result::lost && claim_.is_chosen()) return;
  detail::lock_guard guard(list_->guard());
  list_->remove(&node_);
}

// With the lock of a timers' heap or of an ender held, for which the goroutine waits before it goes
// on.
rt::goroutine* timed_waiter::end() noexcept {
  if (claim_.claim_by_timer() != wake_claim::result::wake) return nullptr;
  detail::lock_guard guard(list_->guard());
  list_->remove(&node_);
  return node_.g;
}

rt::goroutine* timed_waiter::time_out(rt::timer* t, std::int64_t) noexcept {
  return static_cast<alarm*>(t)->waiter->end();
}

// ---- ends from outside ----

void wait_ender::attach(timed_waiter& w) noexcept {
  detail::lock_guard guard(lock_);
  waiter_ = &w;
  if (has_ended_) static_cast<void>(w.end());  // it is not parked
}

void wait_ender::detach() noexcept {
  detail::lock_guard guard(lock_);
  waiter_ = nullptr;
}

void wait_ender::end() noexcept {
  const rt::inside inside;
  lock_.acquire();
  has_ended_ = true;
  rt::goroutine* g = waiter_ == nullptr ? nullptr : waiter_->end();
  lock_.release();
  if (g != nullptr) rt::ready(g);
}

}  // namespace sync
}  // namespace sley
