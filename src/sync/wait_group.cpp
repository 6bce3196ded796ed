// The slow paths of wait_group.
#include <sley/wait_group.hpp>

#include "base/check.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_with_context.hpp"

#include <cstdint>
#include <stdexcept>

namespace sley {

namespace {

[[noreturn]] void throw_too_large() {
  throw std::logic_error("sley::wait_group: the counter is too large");
}

}  // namespace

// While the lock is held, no waiter begins or ends to wait. Waiters keep the group alive while the
// counter has not reached zero, and after that until they are woken. If the last waiter has given
// up meanwhile, the lock must be free before the counter is zero: the group may go then.
void wait_group::add_slow(std::int32_t n, const char* negative) {
  rt::enter();
  waiters_.guard().acquire();
  std::uint64_t seen = state_.load_relaxed();
  if (!is_slow(seen, n)) {
    waiters_.guard().release();
    rt::leave();
    return add(n, negative);
  }
  std::int64_t sum;
  do {
    sum = std::int64_t{count(seen)} + n;
    if (sum < 0 || sum > INT32_MAX) break;
  } while (!state_.cas_acq_rel(seen, sum == 0 ? 0 : seen + units(n), "WT-1"));
  if (sum == 0) {
    ++round_;
    waiters_.wake_all_and_release();
  } else {
    waiters_.guard().release();
  }
  rt::leave();
  if (sum < 0) throw std::logic_error(negative);
  if (sum > INT32_MAX) throw_too_large();
}

void wait_group::done_at_end() noexcept try { done(); } catch (const std::logic_error& error) {
  base::fatal(error.what());
}

void wait_group::take_back_one() {
  state_.sub_acq_rel(units(1), "WT-1");
  throw_too_large();
}

void wait_group::wait_slow() {
  rt::enter();
  waiters_.guard().acquire();
  if (count_in()) {
    waiters_.park(rt::wait::wait_group_wait, this);
  } else {
    waiters_.guard().release();
  }
  rt::leave();
}

// Requires the list's lock. True if the caller counts as a waiter now; the counter is zero
// otherwise.
bool wait_group::count_in() noexcept {
  std::uint64_t seen = state_.load_acquire("WT-1");
  while (count(seen) != 0) {  // ends: each failure means that it has changed
    if (state_.cas_acq_rel(seen, seen + 1, "WT-1")) return true;
  }
  return false;
}

void wait_group::wait(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error || is_done()) return;
  sync::wait_with(ctx, error, [this](detail::wait_limit limit) { return wait_within(limit); });
}
void wait_group::wait(const context& ctx) {
  sync::throwing_with("sley::wait_group: wait", [&](std::error_code& e) { wait(ctx, e); });
}

bool wait_group::wait_within(detail::wait_limit limit) {
  rt::enter();
  bool is_done = true;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    const std::uint32_t round = round_;
    if (count_in()) {
      is_done = self.park(waiters_, rt::wait::wait_group_wait, this) || give_up(round);
    } else {
      waiters_.guard().release();
    }
  }
  rt::leave();
  return is_done;
}

// The caller is a waiter no longer. True: the counter has reached zero all the same since it
// counted itself in, which was in that round, and then it does not count any more. Otherwise no
// waiter is woken while the lock is held, so the count of waiters is the caller's to change.
bool wait_group::give_up(std::uint32_t round) noexcept {
  const detail::lock_guard guard(waiters_.guard());
  if (round_ != round) return true;
  state_.sub_acq_rel(1, "WT-1");
  return false;
}

}  // namespace sley
