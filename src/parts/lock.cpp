// The slow paths of a lock: a thread that finds it taken spins for a moment and then sleeps. The
// header states the protocol.
#include <sley/detail/lock.hpp>

#include "platform/futex.hpp"
#include "platform/relax.hpp"

namespace sley::detail {

void (*check_lock)() noexcept = nullptr;

void lock::acquire_slow() noexcept {
  for (int tries = platform::tries_before_sleep; tries > 0; --tries) {
    // Tries are far apart because the holder works much faster while no other CPU touches the
    // line. The waiting threads lose nothing by it.
    platform::cpu_relax(platform::pauses_between_tries);
    // A plain load first, because a cas would take the line away from the holder.
    std::uint32_t seen = word_.load_relaxed();
    if (seen == free && word_.cas_acquire(seen, held, "LK-1")) return;
  }
  sleepers_here().add_relaxed(1);  // ordered by the barrier
  heavy_barrier("LK-2");           // LK-2: every later release sees a sleeper
  // Ends when an exchange finds the word free. A release that saw slept_on ends each sleep.
  while (word_.exchange_acquire(slept_on, "LK-1") != free) {
    platform::futex_wait(word_, slept_on, platform::forever);
  }
  sleepers_here().sub_relaxed(1);
}

void lock::end_release(rest r) noexcept {
  const bool must_wake =
      r == rest::wake || word_.exchange_release(free, "LK-1") == slept_on;  // LK-3
  if (must_wake) platform::futex_wake(word_, 1);  // LK-4: its address, not its contents
}

}  // namespace sley::detail
