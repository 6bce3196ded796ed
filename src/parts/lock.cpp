// What a thread does that finds a lock taken: spin for a moment, then sleep. The protocol is stated
// in the header.
#include <sley/detail/lock.hpp>

#include "platform/futex.hpp"

namespace sley::detail {

void (*check_lock)() noexcept = nullptr;

void lock::acquire_slow() noexcept {
  for (int tries = platform::tries_before_sleep; tries > 0; --tries) {
    // Far apart: the holder's next round trips are an order of magnitude faster while nobody else
    // touches the line, and those who wait lose nothing by it.
    for (int pauses = platform::pauses_between_tries; pauses > 0; --pauses) cpu_relax();
    // A plain look first: a cas would take the line away from the holder.
    std::uint32_t seen = word_.load_relaxed();
    if (seen == free && word_.cas_acquire(seen, held, "LK-1")) return;
  }
  sleepers_here().add_relaxed(1);  // ordered by the barrier
  heavy_barrier("LK-2");           // LK-2: who releases from now on sees a sleeper
  // Ends when an exchange finds the word free; each sleep is ended by a release that saw slept_on.
  while (word_.exchange_acquire(slept_on, "LK-1") != free) {
    platform::futex_wait(word_, slept_on, platform::forever);
  }
  sleepers_here().add_relaxed(static_cast<std::uint32_t>(-1));
}

void lock::end_release(rest r) noexcept {
  const bool must_wake =
      r == rest::wake || word_.exchange_release(free, "LK-1") == slept_on;  // LK-3
  if (must_wake) platform::futex_wake(word_, 1);  // LK-4: its address, not its contents
}

}  // namespace sley::detail
