// A count of units, and whether anything waits for one, in one word: what semaphores and the limit
// of announced calls are made of. The waiters are the owner's, in a list with a lock of its own.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>

#include <cstddef>
#include <limits>

namespace sley::detail {

class unit_count {
 public:
  static constexpr std::ptrdiff_t max = std::numeric_limits<std::ptrdiff_t>::max() / 2;
  // For try_give() where no more is given than was taken: there is nothing to compare.
  static constexpr std::ptrdiff_t no_limit = std::numeric_limits<std::ptrdiff_t>::max();

  constexpr explicit unit_count(std::ptrdiff_t count) noexcept : state_(count * unit) {}

  // Takes one, if there is one.
  bool try_take() noexcept {
    std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
    while (seen >= unit) {  // ends: each failure means that another thread changed it
      if (state_.cas_acquire(seen, seen - unit, "SE-1")) return true;
    }
    return false;
  }
  // Gives n back. False, and nothing happened: a waiter may want them, n is negative, or there
  // would be more than the limit.
  bool try_give(std::ptrdiff_t n, std::ptrdiff_t limit) noexcept {
    std::ptrdiff_t seen = state_.load_relaxed();                           // the cas decides
    while ((seen & awaited) == 0 && n >= 0 && (seen >> 1) <= limit - n) {  // ends as above
      if (state_.cas_release(seen, seen + n * unit, "SE-1")) return true;
    }
    return false;
  }

  // True: what the giver of the last unit did is over.
  bool has_any() const noexcept { return state_.load_acquire("SE-1") >= unit; }

  // The following require the lock of the waiters.

  // Takes one, or notes that the caller is about to wait.
  bool take_or_mark() noexcept {
    std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
    for (;;) {                                    // ends as above
      if (seen >= unit) {
        if (state_.cas_acquire(seen, seen - unit, "SE-1")) return true;
      } else if (state_.cas_acquire(seen, seen | awaited, "SE-2")) {
        return false;
      }
    }
  }
  // Not above zero while there are waiters, and then nothing changes it but the holder of the lock.
  std::ptrdiff_t count() const noexcept { return state_.load_relaxed() >> 1; }
  // Adds n, which may be negative, and notes whether there are waiters still. False, and nothing
  // happened: there would be more than the limit.
  bool add(std::ptrdiff_t n, bool is_awaited, std::ptrdiff_t limit) noexcept {
    const std::ptrdiff_t mark = is_awaited ? awaited : 0;
    std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
    while (n <= limit - (seen >> 1)) {            // ends as above
      if (state_.cas_release(seen, ((seen >> 1) + n) * unit + mark, "SE-1")) return true;
    }
    return false;
  }

 private:
  static constexpr std::ptrdiff_t awaited = 1;  // a waiter is, or may be, in the list
  static constexpr std::ptrdiff_t unit = 2;

  // SE-1  The taker of a unit sees all writes before that unit was given back: cas_release in
  //       try_give and add <-> cas_acquire in try_take and take_or_mark, load_acquire in has_any;
  //       through the waiters' lock for a waiter that parked.
  // SE-2  A waiter in the list has set `awaited` with the list's lock held, while there was no
  //       unit, and it is cleared with that lock held while the list is empty: a giver that does
  //       not see it has no waiter to wake, and a taker that finds a unit overtakes none.
  //
  // Twice the count, which may be below zero, and `awaited`.
  detail::atomic<std::ptrdiff_t> state_;  // [atomic SE-1, SE-2]
};

}  // namespace sley::detail
