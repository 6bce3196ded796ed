// The slow paths of wait_group.
#include <sley/wait_group.hpp>

#include "base/check.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"

#include <cstdint>
#include <stdexcept>

namespace sley {

namespace {

[[noreturn]] void throw_too_large() {
  throw std::logic_error("sley::wait_group: the counter is too large");
}

}  // namespace

// While the lock is held, no waiter begins or ends to wait. Waiters keep the group alive while the
// counter has not reached zero, and after that until they are woken.
void wait_group::add_slow(std::int32_t n, const char* negative) {
  rt::enter();
  waiters_.guard().acquire();
  std::uint64_t seen = state_.load_relaxed();
  std::int64_t sum;
  do {
    sum = std::int64_t{count(seen)} + n;
    if (sum < 0 || sum > INT32_MAX) break;
  } while (!state_.cas_acq_rel(seen, sum == 0 ? 0 : seen + units(n), "WT-1"));
  if (sum == 0) {
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
  std::uint64_t seen = state_.load_acquire("WT-1");
  bool must_wait = count(seen) != 0;
  while (must_wait && !state_.cas_acq_rel(seen, seen + 1, "WT-1")) must_wait = count(seen) != 0;
  if (must_wait) {
    waiters_.park(rt::wait::wait_group_wait);
  } else {
    waiters_.guard().release();
  }
  rt::leave();
}

}  // namespace sley
