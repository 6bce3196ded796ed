// shared_mutex.
//
// A writer first gets its turn among writers, then shuts readers out, and then waits for those who
// are in. They are in state_'s count or in the table, each in a slot that its own hash and the
// lock's name; a slot that is taken by somebody else sends a reader to the count.
//
// The table comes into use when readers are seen to disturb each other, and goes out of use when a
// writer comes: then for so long that looking through the table costs little of all.
#include <sley/shared_mutex.hpp>

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/enter.hpp"
#include "runtime/wait_reason.hpp"
#include "sync/timed_waiter.hpp"

namespace sley {

namespace {

constexpr std::size_t slot_count = 2048;
constexpr std::uintptr_t asked = 1;      // in a slot: the reader is to tell when it leaves
constexpr std::int64_t cost_factor = 9;  // so many times as long as a writer's look at the table

detail::atomic_table<std::uintptr_t, slot_count> slots;  // [atomic SM-2, SM-3]

std::uint64_t count_of(std::uint64_t state) noexcept { return state / 8; }

}  // namespace

shared_mutex::~shared_mutex() {
  if constexpr (base::debug_checks) {
    const bool is_free = state_.load_relaxed() == 0 && !is_any_slot_taken();
    if (!is_free) base::fatal("sley: a shared_mutex is destroyed while it is locked");
  }
}

// ---- readers ----

bool shared_mutex::try_lock_shared() noexcept {
  if (has_slots_.load_relaxed()) {  // a hint: enter_slot looks again
    if (slot* s = my_slot(); s != nullptr && enter_slot(*s)) return true;
  }
  return count_in();
}

void shared_mutex::unlock_shared() noexcept {
  if (slot* s = my_slot(); s != nullptr && leave_slot(*s)) return;
  count_out();
}

// Null on a thread that has never used the library. The goroutine stays on its thread meanwhile.
shared_mutex::slot* shared_mutex::my_slot() const noexcept {
  const rt::machine* m = rt::this_machine();
  if (m == nullptr) return nullptr;
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const auto who = reinterpret_cast<std::uintptr_t>(m->g) / sizeof(rt::goroutine);
  const std::uint64_t hash = (who ^ (mark() << 16)) * odd;
  return &slots[hash >> 53];
}

bool shared_mutex::enter_slot(slot& s) noexcept {
  std::uintptr_t expected = 0;
  if (s.load_relaxed() != 0 || !s.cas_seq_cst(expected, mark(), "SM-2")) return false;
  if (has_slots_.load_seq_cst("SM-2")) return true;
  leave_slot(s);
  return false;
}

// False if this lock is not in the slot. If another goroutine has put it there, which has the same
// slot, that one will find itself in the count, where we are.
bool shared_mutex::leave_slot(slot& s) noexcept {
  if ((s.load_relaxed() & ~asked) != mark()) return false;
  if (s.exchange_release(0, "SM-3") == mark()) return true;
  rt::machine* m = rt::enter();
  asking_.guard().acquire();
  if (--asked_ == 0) {
    asking_.wake_one_and_release();
  } else {
    asking_.guard().release();
  }
  rt::leave(m);
  return true;
}

bool shared_mutex::count_in() noexcept {
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  bool is_contended = false;
  while ((seen & writer) == 0) {  // ends: each failure means that somebody else got in or out
    if (state_.cas_acquire(seen, seen + reader, "SM-1")) {
      if (is_contended) prefer_slots();
      return true;
    }
    is_contended = true;
  }
  return false;
}

// By a reader in the count: a writer looks at has_slots_ again once that is zero.
void shared_mutex::prefer_slots() noexcept {
  if (has_slots_.load_relaxed() || (state_.load_relaxed() & writer) != 0) return;
  if (platform::now_ns() < no_slots_before_ns_.load_relaxed()) return;
  has_slots_.store_release(true, "SM-2");
}

void shared_mutex::count_out() noexcept {
  const std::uint64_t before = state_.sub_acq_rel(reader, "SM-1");
  if (count_of(before) == 0) base::fatal("sley: unlock_shared of an unlocked shared_mutex");
  if (count_of(before) > 1 || (before & drains) == 0) return;
  rt::machine* m = rt::enter();  // the writer waits for us, so the lock is there
  draining_.guard().acquire();
  state_.and_acq_rel(~drains, "SM-1");
  draining_.wake_one_and_release();
  rt::leave(m);
}

// Who is chosen is in the count.
bool shared_mutex::lock_shared_slow(std::int64_t deadline_ns) {
  rt::enter();
  bool is_in;
  {
    sync::timed_waiter self(deadline_ns);
    readers_.guard().acquire();
    is_in = count_in_or_mark();
    if (is_in) {
      readers_.guard().release();
    } else {
      is_in = self.park(readers_, rt::wait::shared_mutex_lock_shared);
    }
  }
  rt::leave();
  return is_in;
}

// Requires the readers' lock. True if it is counted, else there is a writer, which will see it.
bool shared_mutex::count_in_or_mark() noexcept {
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {                                   // ends: each failure means that somebody else did
    if ((seen & writer) == 0) {
      if (state_.cas_acquire(seen, seen + reader, "SM-1")) return true;
    } else if (state_.cas_acquire(seen, seen | blocked, "SM-1")) {
      return false;
    }
  }
}

// ---- writers ----

bool shared_mutex::try_lock() noexcept {
  if (!writers_.try_acquire()) return false;
  std::uint64_t nobody = 0;
  if (!state_.cas_acquire(nobody, writer, "SM-1")) {
    writers_.release(1, 1);
    return false;
  }
  if (!has_slots_.load_relaxed() && !is_asking_) return true;  // SM-1: readers set it in the count
  has_slots_.store_seq_cst(false, "SM-2");
  is_asking_ = is_any_slot_taken();
  if (!is_asking_) return true;
  unlock();
  return false;
}

void shared_mutex::unlock() noexcept {
  std::uint64_t seen = writer;
  if (!state_.cas_release(seen, 0, "SM-1")) {
    if ((seen & writer) == 0) base::fatal("sley: unlock of an unlocked shared_mutex");
    let_readers_in();
  }
  writers_.release(1, 1);
}

// The writer goes, and those who wait are counted at once, so that the next writer waits for them.
void shared_mutex::let_readers_in() noexcept {
  rt::machine* m = rt::enter();
  detail::chosen_waiters chosen;
  readers_.guard().acquire();
  const std::uint64_t let_in = readers_.choose(SIZE_MAX, chosen) * reader;
  std::uint64_t seen = state_.load_relaxed();  // the cas decides
  while (!state_.cas_release(seen, (seen & ~(writer | blocked)) + let_in, "SM-1")) {
  }
  readers_.release_and_wake(chosen);
  rt::leave(m);
}

bool shared_mutex::lock_until_ns(std::int64_t deadline_ns) {
  if (!writers_.try_acquire_until(deadline_ns)) return false;
  const std::uint64_t before = state_.or_acq_rel(writer, "SM-1");
  if (has_slots_.load_relaxed()) {  // no more of them, though some may come until the count is zero
    has_slots_.store_seq_cst(false, "SM-2");
    is_asking_ = true;
  }
  if ((count_of(before) == 0 || drain_count(deadline_ns)) && drain_slots(deadline_ns)) return true;
  let_readers_in();
  writers_.release(1, 1);
  return false;
}

// Until nobody is in the count. False: the time is up.
bool shared_mutex::drain_count(std::int64_t deadline_ns) {
  rt::enter();
  bool is_drained = true;
  {
    sync::timed_waiter self(deadline_ns);
    draining_.guard().acquire();
    std::uint64_t seen = state_.load_acquire("SM-1");
    while (count_of(seen) != 0 && !state_.cas_acq_rel(seen, seen | drains, "SM-1")) {
    }
    if (count_of(seen) == 0) {
      draining_.guard().release();
    } else {
      is_drained = self.park(draining_, rt::wait::shared_mutex_lock) || stop_draining();
    }
  }
  rt::leave();
  return is_drained;
}

// True if the last one of the count has gone all the same; then it is on its way to wake us.
bool shared_mutex::stop_draining() noexcept {
  draining_.guard().acquire();
  std::uint64_t seen = state_.load_acquire("SM-1");
  while (count_of(seen) != 0 && !state_.cas_acq_rel(seen, seen & ~drains, "SM-1")) {
  }
  if (count_of(seen) == 0 && (seen & drains) != 0) {
    draining_.park(rt::wait::shared_mutex_lock);
    return true;
  }
  draining_.guard().release();
  return count_of(seen) == 0;
}

// Until nobody is in the table. Nobody is in the count, so the table stays out of use.
bool shared_mutex::drain_slots(std::int64_t deadline_ns) {
  if (!is_asking_ && !has_slots_.load_relaxed()) return true;  // SM-1 orders it
  has_slots_.store_seq_cst(false, "SM-2");
  is_asking_ = true;
  rt::enter();
  bool is_drained = true;
  {
    sync::timed_waiter self(deadline_ns);
    const std::int64_t begin_ns = platform::now_ns();
    const std::int32_t found = ask_slots();
    const std::int64_t end_ns = platform::now_ns();
    no_slots_before_ns_.store_relaxed(end_ns + cost_factor * (end_ns - begin_ns));
    asking_.guard().acquire();
    asked_ += found;
    if (asked_ == 0) {
      asking_.guard().release();
    } else {
      is_drained = self.park(asking_, rt::wait::shared_mutex_lock);
    }
  }
  rt::leave();
  is_asking_ = !is_drained;
  return is_drained;
}

// Asks all who are in the table to tell when they leave. Returns how many were not asked before.
std::int32_t shared_mutex::ask_slots() noexcept {
  std::int32_t found = 0;
  for (std::size_t i = 0; i < slot_count; ++i) {
    std::uintptr_t seen = slots[i].load_seq_cst("SM-2");
    if (seen != mark()) continue;
    if (slots[i].cas_acquire(seen, mark() | asked, "SM-3")) ++found;
  }
  return found;
}

bool shared_mutex::is_any_slot_taken() noexcept {
  for (std::size_t i = 0; i < slot_count; ++i) {
    if ((slots[i].load_seq_cst("SM-2") & ~asked) == mark()) return true;
  }
  return false;
}

}  // namespace sley
