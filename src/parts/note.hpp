// One thread sleeps on a note until another thread wakes it, once. The wake may come before the
// sleep. From Go's notesleep and notewakeup.
//
//   NT-1  Writes before wake() are seen after sleep(): exchange_acq_rel(word_ = signalled) in wake
//         <-> cas_acquire or load_acquire of it in sleep.
//   Test: tests/model/note_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include "platform/futex.hpp"
#include "platform/relax.hpp"

#include <cstdint>

namespace sley::parts {

class note {
 public:
  // Blocks the thread until wake(). False if CLOCK_MONOTONIC reached deadline_ns first. Only one
  // thread at a time may sleep on a note.
  bool sleep(std::int64_t deadline_ns = platform::forever) noexcept {
    std::uint32_t seen = empty;
    if (!word_.cas_acquire(seen, sleeping, "NT-1")) {
      // Only a wake can have come before. The load acquires because the failed cas was relaxed.
      return word_.load_acquire("NT-1") == signalled;
    }
    while (word_.load_acquire("NT-1") == sleeping) {  // ends by a wake or at the deadline
      platform::futex_wait(word_, sleeping, deadline_ns);
      if (deadline_ns != platform::forever && platform::monotonic_ns() >= deadline_ns) {
        return !give_up();
      }
      look_out();
    }
    return true;
  }

  // Wakes the sleeper, or makes the next sleep() return at once. At most once until clear().
  void wake() noexcept {
    if (word_.exchange_acq_rel(signalled, "NT-1") == sleeping) platform::futex_wake(word_, 1);
  }

  // Announces a wake: the sleeper spins for it on its CPU for a moment, and goes back to sleep if
  // the wake does not come. One system call if a thread sleeps. Any thread, at any time.
  void nudge() noexcept {
    if (word_.load_relaxed() == sleeping) platform::futex_wake(word_, 1);
  }

  // For a note that may be woken any number of times: makes it ready for another round. The caller
  // then sees all writes before every earlier wake.
  void restart() noexcept { word_.exchange_acq_rel(empty, "NT-1"); }

  // Makes the note ready for another round. No other thread may be using it.
  void clear() noexcept { word_.store_relaxed(empty); }  // published by the hand-over of the note

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t signalled = 1;
  static constexpr std::uint32_t sleeping = 2;

  // Spins after a nudge or a signal.
  void look_out() const noexcept {
    for (int looks = platform::looks_after_nudge; looks > 0; --looks) {
      if (word_.load_relaxed() != sleeping) return;
      platform::cpu_relax(platform::pauses_between_tries);
    }
  }

  // The sleeper stops waiting. False if a wake came first.
  bool give_up() noexcept {
    std::uint32_t seen = sleeping;
    return word_.cas_acq_rel(seen, empty, "NT-1");
  }

  detail::atomic<std::uint32_t> word_;  // [atomic NT-1]
};

}  // namespace sley::parts
