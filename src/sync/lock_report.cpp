// A caller that gets a lock notes that in its record, and the sanitizer is told of the hold; the
// same where the hold ends. But the sanitizer is not told of an exclusive hold while another caller
// has such a note, nor does a caller note a lock twice. So what the sanitizer knows stays
// consistent even where a lock is unlocked by another caller than its holder, or by none. It is
// told of such an unlocking of an exclusive lock, and reports it.
#include <sley/detail/lock_report.hpp>

#include "platform/lock_order.hpp"
#include "runtime/state/sched_state.hpp"
#include "sync/caller.hpp"

namespace sley::detail {

namespace {

platform::noted_locks& locks_of_caller() noexcept { return sync::caller()->noted_locks; }

}  // namespace

reported_lock::attempt::attempt(reported_lock& lock, lock_kind kind,
                                bool may_wait_for_ever) noexcept
    : lock_(lock), kind_(kind), may_wait_for_ever_(may_wait_for_ever) {
  platform::begin_to_lock(&lock_.place_, {kind_ == lock_kind::shared, may_wait_for_ever_});
}

reported_lock::attempt::~attempt() {
  const bool is_noted = has_it_ && takes_note();
  platform::end_to_lock(&lock_.place_, {kind_ == lock_kind::shared, may_wait_for_ever_}, is_noted);
}

bool reported_lock::attempt::takes_note() noexcept {
  const bool is_exclusive = kind_ == lock_kind::exclusive;
  if (is_exclusive && lock_.is_known_) return false;
  if (!locks_of_caller().add(&lock_)) return false;
  if (is_exclusive) lock_.is_known_ = true;
  return true;
}

void reported_lock::gives_back(lock_kind kind) noexcept {
  const bool is_exclusive = kind == lock_kind::exclusive;
  if (is_exclusive && !is_known_) return;
  const bool is_holder = locks_of_caller().remove(this);
  if (is_holder && is_exclusive) is_known_ = false;
  if (is_holder || is_exclusive) platform::tell_unlock(&place_, !is_exclusive);
}

// At the end of the program locks may be destroyed that goroutines hold.
reported_lock::~reported_lock() {
  if (!is_known_ || !rt::sched.gate.is_paused()) platform::forget_lock(&place_);
}

}  // namespace sley::detail
