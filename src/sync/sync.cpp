// The slow paths of <sley/sync.hpp> and of futures.
#include <sley/sync.hpp>

#include <sley/future.hpp>

#include "base/check.hpp"
#include "runtime/enter.hpp"
#include "runtime/wait_reason.hpp"

#include <stdexcept>

namespace sley {

// ---- mutex ----
//
// While the list's lock is held, `contended` is set exactly if somebody is in the list. So an
// unlock that saw it finds a waiter, whose need keeps the mutex alive until it is woken.

void mutex::lock_slow() {
  rt::enter();
  for (bool was_woken = false;; was_woken = true) {  // ends when a cas takes the lock
    waiters_.guard().acquire();
    if (take_or_mark()) break;
    waiters_.park(rt::wait::mutex_lock, was_woken);
  }
  waiters_.guard().release();
  rt::leave();
}

// Requires the list's lock. True if the mutex is ours, else it is marked contended.
bool mutex::take_or_mark() noexcept {
  std::uint32_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {  // ends: each failure means that somebody locked or unlocked
    if ((seen & locked) == 0) {
      if (state_.cas_acquire(seen, seen | locked, "MX-1")) return true;
    } else if (state_.cas_acquire(seen, seen | contended, "MX-1")) {
      return false;
    }
  }
}

void mutex::unlock_slow() noexcept {
  if ((state_.load_relaxed() & locked) == 0) base::fatal("sley: unlock of unlocked mutex");
  rt::enter();
  waiters_.guard().acquire();
  const bool more = waiters_.has_more_than_one();
  state_.exchange_release(more ? contended : 0, "MX-1");
  waiters_.wake_one_and_release();
  rt::leave();
}

// ---- wait_group ----

void wait_group::add_slow(std::int32_t n, std::uint64_t after) {
  const std::int64_t sum = std::int64_t{count(after - units(n))} + n;
  if (sum < 0 || sum > INT32_MAX) {
    state_.sub_acq_rel(units(n), "WT-1");
    throw std::logic_error(sum < 0 ? "sley::wait_group: negative counter"
                                   : "sley::wait_group: counter too large");
  }
  // Zero, with waiters: they cannot go before we wake them, so the group stays.
  rt::enter();
  waiters_.guard().acquire();
  state_.store_release(0, "WT-1");
  waiters_.wake_all_and_release();
  rt::leave();
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

// ---- one_shot ----

void detail::one_shot::set() noexcept {
  rt::enter();
  waiters_.guard().acquire();
  set_.store_release(true, "FU-1");
  waiters_.wake_all_and_release();
  rt::leave();
}

void detail::one_shot::wait() {
  if (is_set()) return;
  rt::enter();
  waiters_.guard().acquire();
  if (set_.load_relaxed()) {  // under the lock that set() holds
    waiters_.guard().release();
  } else {
    waiters_.park(rt::wait::future_wait);
  }
  rt::leave();
}

}  // namespace sley
