// Sums of the figures that the processors keep (see struct counters). Any thread, without entering.
#pragma once

#include <sley/detail/atomic.hpp>

#include "runtime/state/processor.hpp"

#include <cstdint>

namespace sley::rt {

std::uint64_t sum(detail::atomic<std::uint64_t> counters::* counter) noexcept;
std::uint64_t spawned_goroutines() noexcept;  // also by foreign threads
std::uint64_t living_goroutines() noexcept;   // that have not ended

}  // namespace sley::rt
