// The lock inside the library: short critical sections, one atomic read-modify-write a round trip.
//
// A thread that finds it taken spins for a moment and then sleeps on a futex. Holding one never
// spans a park (park() releases it after the switch) or a call into libc that can take a lock of
// its own.
//
//   LK-1  The critical section is handed over: store_release or exchange_release (word_ = free) in
//         release <-> cas_acquire (word_ = held) in acquire, or exchange_acquire (word_ = slept_on)
//         of a sleeper.
//   LK-2  Lost wake-up between release and sleep.
//           A releases:   1 word_ = free        2 read sleepers
//           B goes sleep: 3 sleepers += 1       4 word_ = slept_on, sleep while it is that
//           Bad: A reads no sleeper at 2, B finds the word taken at 4: B sleeps beside a free lock.
//           So:  a light barrier between 1 and 2 (every release), a heavy one between 3 and 4 (only
//                in threads that go to sleep). Either 2 sees 3, or 4 sees 1. Without membarrier
//                every place counts one sleeper too many, so that all releases go the slow way.
//         Test: tests/model/lock_model.cpp, release_races_with_sleep.
//   LK-3  A sleeper is woken once: while there are sleepers, a release looks at the word that it
//         replaces, and makes a system call only if a thread has gone to sleep since it was last
//         free. A woken thread says slept_on again, because others may still sleep.
//   LK-4  After word_ = free the lock is not touched any more, because the next holder may free it:
//         the sleepers are counted in a table beside, and a futex is woken by its mere address.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::detail {

// Threads that sleep, or are about to, on locks whose addresses fall into the same place.
inline constexpr std::size_t sleeper_places = 256;
SLEY_HIDDEN extern static_table<atomic<std::uint32_t>, sleeper_places>
    lock_sleepers;  // [atomic LK-2]

// The order in which a thread takes several locks: while it holds one, it takes only locks that
// stand further down, or more of the same rank where the rank says so.
enum class lock_rank : std::uint8_t {
  none,  // outside of the order
  boot,
  deadlines,
  border,  // several: while the world is stopped
  timers,  // several: of a processor that goes, and of the processor that gets them
  descriptor,
  descriptors,
  channel,  // several: of a select, by their addresses
  waiters,
  machines,
  scheduler,
  global_queue,
  stacks,
  objects,
  memory,
  profiles,
};

class lock;

// In builds with debug checks: a thread that takes a lock must be where no goroutine can be
// stopped, and must take locks in order. Each check ends the process otherwise. The simulation
// plays many threads in one.
SLEY_HIDDEN extern void (*check_lock)() noexcept;  // [const] after boot, null before
SLEY_HIDDEN void note_taken(const lock& l, lock_rank rank) noexcept;
SLEY_HIDDEN void note_released(const lock& l) noexcept;

class lock {
 public:
  explicit constexpr lock([[maybe_unused]] lock_rank rank = lock_rank::none) noexcept {
#ifdef SLEY_DEBUG_CHECKS
    rank_ = rank;
#endif
  }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

  SLEY_ALWAYS_INLINE void acquire() noexcept {
    if (__builtin_expect(!try_acquire(), 0)) acquire_slow();
  }
  SLEY_ALWAYS_INLINE void release() noexcept {
    if (const rest r = begin_release(); __builtin_expect(r != rest::nothing, 0)) end_release(r);
  }

  // The parts of the two, for a caller that leaves the rare ones to a tail call.
  SLEY_ALWAYS_INLINE bool try_acquire() noexcept {
    note_taken_here();
    std::uint32_t seen = free;
    return word_.cas_acquire(seen, held, "LK-1");
  }
  SLEY_HIDDEN void acquire_slow() noexcept;

  enum class rest { nothing, everything, wake };
  SLEY_ALWAYS_INLINE rest begin_release() noexcept {
    note_released_here();
    const atomic<std::uint32_t>& sleepers = sleepers_here();
    // Relaxed, both looks: LK-2's barriers order the second, and the first only chooses the way.
    if (sleepers.load_relaxed() != 0) return rest::everything;
    word_.store_release(free, "LK-1");
    lightest_barrier("LK-2");
    return sleepers.load_relaxed() == 0 ? rest::nothing : rest::wake;  // LK-2
  }
  SLEY_HIDDEN void end_release(rest r) noexcept;

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t slept_on = 2;  // held, and a thread may sleep

  SLEY_ALWAYS_INLINE atomic<std::uint32_t>& sleepers_here() const noexcept {
    return lock_sleepers[(reinterpret_cast<std::uintptr_t>(this) >> 4) % sleeper_places];
  }

  SLEY_ALWAYS_INLINE void note_taken_here() const noexcept {
#ifdef SLEY_DEBUG_CHECKS
    if (check_lock != nullptr) check_lock();
#ifndef SLEY_SIMULATION
    note_taken(*this, rank_);
#endif
#endif
  }
  SLEY_ALWAYS_INLINE void note_released_here() const noexcept {
#if defined(SLEY_DEBUG_CHECKS) && !defined(SLEY_SIMULATION)
    note_released(*this);
#endif
  }

  atomic<std::uint32_t> word_;  // [atomic LK-1, LK-3]
#ifdef SLEY_DEBUG_CHECKS
  lock_rank rank_;
#endif
};

class lock_guard {
 public:
  explicit lock_guard(lock& l) noexcept : lock_(l) { lock_.acquire(); }
  ~lock_guard() { lock_.release(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  lock& lock_;
};

}  // namespace sley::detail
