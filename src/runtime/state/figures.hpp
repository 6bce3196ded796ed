// Sums of the figures that the processors keep (see struct counters). Any thread, without entering.
#pragma once

#include <sley/detail/atomic.hpp>

#include "parts/time_histogram.hpp"
#include "runtime/state/processor.hpp"

#include <cstdint>

namespace sley::rt {

std::uint64_t sum(detail::atomic<std::uint64_t> counters::* counter) noexcept;
// Of the processors' histograms. A range's count may be of another moment than the sum.
struct time_totals {
  std::uint64_t counts[parts::time_histogram::ranges] = {};
  std::uint64_t sum_ns = 0;
};
time_totals sum(parts::time_histogram sched_meter::* histogram) noexcept;
std::uint64_t spawned_goroutines() noexcept;  // also by foreign threads
std::uint64_t living_goroutines() noexcept;   // that have not ended
// In the processor's own queue. The answer may be outdated at once.
inline std::uint64_t queued_at(const processor& p) noexcept {
  return p.queue.size() + (p.next.is_empty() ? 0 : 1);
}

}  // namespace sley::rt
