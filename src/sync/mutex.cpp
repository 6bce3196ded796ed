// The slow paths of mutex. From Go's sync.Mutex.
//
// `woken` is set while one waiter that was woken, or one that spins, has neither taken the lock nor
// begun to wait: an unlock then wakes no other waiter. `starving` is set only while the mutex is
// locked. Until it is cleared, an unlock hands the lock to the first in line instead of freeing it.
#include <sley/mutex.hpp>

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "platform/relax.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/contention.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/misuse.hpp"
#include "sync/spinning.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/unlock_event.hpp"
#include "sync/wait_with_context.hpp"

#include <new>
#include <optional>

namespace sley {

namespace {

constexpr std::int64_t starving_after_ns = 1'000'000;

}  // namespace

struct mutex::attempt {
  detail::wait_limit limit;
  std::int64_t since_ns = 0;  // when it began to wait; 0: not yet
  std::int64_t until_ns = 0;  // when it ended waiting, the last time
  bool is_woken = false;      // `woken` is set on its account
  bool is_starving = false;   // it has waited for too long
};

enum class mutex::outcome { again, has_it, too_late };

void mutex::lock(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error) return;
  detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, false);
  if (!take_if_free()) {
    sync::wait_with(ctx, error, [this](detail::wait_limit limit) { return lock_slow(limit); });
  }
  reported.ends(!error);
}
void mutex::lock(const context& ctx) {
  sync::throwing_with("sley: lock a mutex", [&](std::error_code& e) { lock(ctx, e); });
}

bool mutex::lock_slow(detail::wait_limit limit) {
  static_assert(offsetof(mutex, owner_) == 0, "rt::is_for_lock");
  if (limit.is_none()) {
    owner_.check_not_caller("sley: a mutex is locked by the goroutine that has locked it already");
  }
  rt::enter();
  attempt a{.limit = limit};
  outcome result = spin(a) || take(a) ? outcome::has_it : outcome::again;
  while (result == outcome::again) result = wait(a);
  if (a.since_ns != 0) rt::count_lock_wait(a.until_ns - a.since_ns);
  rt::leave();
  if (result != outcome::has_it) return false;
  owner_.enter();
  return true;
}

bool mutex::spin(attempt& a) noexcept {
  if (!sync::can_spin()) return false;
  for (int i = 0; i < sync::spins; ++i) {
    std::uint32_t seen = state_.load_relaxed();  // the cas decides
    if ((seen & locked) == 0 && take(a)) return true;
    if ((seen & starving) != 0) return false;
    if (!a.is_woken && (seen & (woken | contended)) == contended) {
      a.is_woken = state_.cas_relaxed(seen, seen | woken);  // hands nothing over
    }
    platform::cpu_relax(sync::pauses_a_spin);
  }
  return false;
}

bool mutex::take(const attempt& a) noexcept {
  const std::uint32_t mine = a.is_woken ? woken : 0;
  std::uint32_t seen = state_.load_relaxed();  // the cas decides
  while ((seen & locked) == 0) {               // ends: each failure means that it has changed
    if (state_.cas_acquire(seen, (seen | locked) & ~mine, "MX-1")) return true;
  }
  return false;
}

// Requires the list's lock. False: the mutex is marked as contended.
bool mutex::take_or_mark(attempt& a) noexcept {
  const std::uint32_t mine = a.is_woken ? woken : 0;
  const std::uint32_t marks = contended | (a.is_starving ? starving : 0);
  while (!take(a)) {                             // ends: each failure means that it has changed
    std::uint32_t seen = state_.load_relaxed();  // the cas decides
    if ((seen & locked) == 0 || !state_.cas_acq_rel(seen, (seen | marks) & ~mine, "MX-2")) continue;
    a.is_woken = false;
    is_crowded_.store_relaxed(true);
    return false;
  }
  return true;
}

mutex::outcome mutex::wait(attempt& a) {
  std::optional<sync::timed_waiter> timed;
  if (!a.limit.is_none()) arm(timed, a);
  waiters_.guard().acquire();
  if (take_or_mark(a)) {
    waiters_.guard().release();
    return outcome::has_it;
  }
  const bool is_first_in_line = a.since_ns != 0;
  if (!is_first_in_line) a.since_ns = platform::now_ns();
  bool is_told = false;
  if (!timed) {
    is_told = waiters_.park(rt::wait::mutex_lock, this, is_first_in_line);
  } else if (timed->park(waiters_, rt::wait::mutex_lock, this, is_first_in_line)) {
    is_told = timed->was_told();
  } else {
    a.until_ns = platform::now_ns();
    stop_waiting();
    return outcome::too_late;
  }
  a.until_ns = platform::now_ns();
  a.is_starving = a.until_ns - a.since_ns > starving_after_ns;
  if (!is_told) {
    a.is_woken = true;
    return take(a) ? outcome::has_it : outcome::again;
  }
  static_cast<void>(state_.load_acquire("MX-1"));  // told by hand_on()
  if (!a.is_starving) state_.and_acq_rel(~starving, "MX-2");
  return outcome::has_it;
}

// Without memory for a timer, a woken waiter lets another waiter be woken.
void mutex::arm(std::optional<sync::timed_waiter>& timed, attempt& a) {
  try {
    timed.emplace(a.limit);
  } catch (const std::bad_alloc&) {  // we are out of the runtime
    const bool owes_a_wake = a.is_woken && give_back(a);
    if (owes_a_wake) let_go();
    throw;
  }
}

// Clears `woken`. True: the lock was free, and is taken.
bool mutex::give_back(const attempt& a) noexcept {
  for (;;) {  // ends: each failure means that it has changed
    if (take(a)) return true;
    std::uint32_t seen = state_.load_relaxed();  // the cas decides
    if ((seen & locked) != 0 && state_.cas_relaxed(seen, seen & ~woken)) return false;
  }
}

// The time was up, and the waiter is not in the list any more.
void mutex::stop_waiting() noexcept {
  const detail::lock_guard guard(waiters_.guard());
  if (!waiters_.is_empty()) return;
  is_crowded_.store_relaxed(false);
  state_.and_acq_rel(~(contended | starving), "MX-2");
}

void mutex::unlock_slow() noexcept {
  std::uint32_t seen = state_.load_relaxed();  // the cas decides
  while ((seen & locked) != 0) {  // ends: each round frees it or finds that it has changed
    const bool has_none_to_wake = (seen & contended) == 0 || (seen & (woken | starving)) == woken;
    if (has_none_to_wake) {
      if (state_.cas_release(seen, seen & ~locked, "MX-1")) return;
    } else {
      if (hand_on()) return;
      seen = state_.load_relaxed();  // the cas decides
    }
  }
  base::fatal("sley: unlock of unlocked mutex");
}

// Wakes the first in line, or tells it that it has the lock. False, and nothing happened, if no
// waiter is left. The mutex may then be destroyed as soon as it is free, so its list is not touched
// after that.
bool mutex::hand_on() noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  std::uint32_t seen = state_.load_relaxed();  // but for `woken`, it changes under the list's lock
  if ((seen & contended) == 0) {
    waiters_.guard().release();
    rt::leave(m);
    return false;
  }
  const sync::unlock_event event(&waiters_);
  detail::chosen_waiters chosen;
  waiters_.choose(1, chosen);
  const bool is_handed_over = chosen.first != nullptr && (seen & starving) != 0;
  if (is_handed_over) chosen.first->is_told = true;
  const std::uint32_t kept = waiters_.is_empty() ? 0 : contended | (seen & starving);
  if (kept == 0) is_crowded_.store_relaxed(false);
  for (bool is_done = false; !is_done;) {  // ends: `woken` is set once at most meanwhile
    std::uint32_t next = (seen & woken) | kept;
    if (is_handed_over) {
      next |= locked;
    } else {
      next = (next & ~starving) | (chosen.first != nullptr ? woken : 0);
    }
    is_done = state_.cas_release(seen, next, "MX-1");
  }
  waiters_.release_and_wake(chosen);
  event.record();
  rt::leave(m);
  return true;
}

void mutex::check_unused() const noexcept {
  if ((state_.load_relaxed() & (locked | contended)) != 0)
    sync::destroyed_in_use("sley: a mutex is destroyed while it is locked");
}

}  // namespace sley
