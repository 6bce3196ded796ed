// What a thread does that finds a lock taken: spin for a moment, then sleep. The protocol is stated in
// the header.
#include <sley/detail/lock.hpp>

#include "platform/futex.hpp"

namespace sley::detail {

void lock::acquire_slow() noexcept {
  for (int i = 0; i < platform::spins_before_sleep; ++i) {
    cpu_relax();
    // A plain look first: an exchange would take the line away from the holder.
    if (word_.load_relaxed() == 0 && word_.exchange_acquire(1, "LK-1") == 0) return;
  }
  sleepers_here().add_relaxed(1);  // ordered by the barrier
  heavy_barrier("LK-2");           // LK-2: who releases from now on sees a sleeper
  // Ends when an exchange finds the word free; each sleep is ended by a release that saw a sleeper.
  while (word_.exchange_acquire(1, "LK-1") != 0) {
    platform::futex_wait(word_, 1, platform::forever);
  }
  sleepers_here().add_relaxed(static_cast<std::uint32_t>(-1));
}

void lock::wake_sleeper(const atomic<std::uint32_t>& sleepers) noexcept {
  light_barrier("LK-2");
  if (sleepers.load_relaxed() > platform::phantom_sleepers()) platform::futex_wake(word_, 1);
}

}  // namespace sley::detail
