

#include "runtime/state/figures.hpp"

#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstddef>

namespace sley::rt {

std::uint64_t sum(detail::atomic<std::uint64_t> counters::* counter) noexcept {
  std::uint64_t total = 0;
  const std::uint32_t made = sched.made_procs.read();
  for (std::uint32_t i = 0; i < made; ++i) {
    total += (sched.processors[i].figures.*counter).load_relaxed();
  }
  return total;
}

time_totals sum(parts::time_histogram sched_meter::* histogram) noexcept {
  time_totals total;
  const std::uint32_t made = sched.made_procs.read();
  for (std::uint32_t i = 0; i < made; ++i) {
    const parts::time_histogram& one = sched.processors[i].meter.*histogram;
    for (std::size_t k = 0; k < parts::time_histogram::ranges; ++k) total.counts[k] += one.count(k);
    total.sum_ns += one.sum_ns();
  }
  return total;
}

std::uint64_t spawned_goroutines() noexcept {
  return sum(&counters::spawned) + sched.spawned.load_relaxed();
}

// Reads the ended goroutines first, so that a goroutine that ends between the two sums counts as
// living and not as minus one.
std::uint64_t living_goroutines() noexcept {
  const std::uint64_t finished = sum(&counters::finished);
  return spawned_goroutines() - finished;
}

}  // namespace sley::rt
