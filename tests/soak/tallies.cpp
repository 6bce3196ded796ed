#include "soak/soak.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace soak {
namespace {

constexpr auto size = static_cast<std::size_t>(tally::count_of_tallies);

constexpr std::array<const char*, size> names = {
    "laps",
    "channel values received",
    "selects",
    "locks taken",
    "other waits (semaphore, barrier, future, ...)",
    "goroutines started in bursts and trees",
    "contexts ended",
    "exceptions caught after parks",
    "timers fired or stopped",
    "connections",
    "bytes echoed and compared",
    "datagrams answered",
    "processes",
    "stack overflows caught",
    "signals received",
    "blocking calls",
    "of those, ended early by a signal",
    "computations compared",
    "goroutines locked to threads",
    "foreign threads",
    "changes of the number of processors",
    "searches for leaked goroutines",
};

std::array<std::atomic<std::uint64_t>, size> tallies;

}  // namespace

void count(tally what, std::uint64_t n) {
  tallies[static_cast<std::size_t>(what)].fetch_add(n, std::memory_order_relaxed);
}

std::uint64_t counted(tally what) { return tallies[static_cast<std::size_t>(what)]; }

std::uint64_t counted() {
  std::uint64_t sum = 0;
  for (const auto& one : tallies) sum += one;
  return sum;
}

const char* name_of(tally what) { return names[static_cast<std::size_t>(what)]; }

}  // namespace soak
