// The chaos build: real threads, perturbed by a seed (SLEY_SEED) at every atomic operation and at
// the scheduler's decisions. Which thread draws which number still depends on the machine, so a
// seed names a mix of disturbances, not one schedule. Seed 0 disturbs nothing.
#include <sley/detail/schedule_point.hpp>

#if defined(SLEY_CHAOS) && !defined(SLEY_SIMULATION)

#include "base/random.hpp"
#include "platform/decisions.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace sley {

namespace {

// Not sley's own atomic, which calls this file. Relaxed: only that the numbers differ matters.
std::atomic<std::uint64_t> draws;

std::uint64_t next() noexcept {
  return base::mix(platform::seed() + draws.fetch_add(1, std::memory_order_relaxed));
}

bool one_in(std::uint64_t n) noexcept { return platform::seed() != 0 && next() % n == 0; }

}  // namespace

// Most of the time nothing, sometimes a short pause, now and then the CPU goes to another thread.
void detail::schedule_point() noexcept {
  constexpr std::uint64_t pause_one_in = 64;
  constexpr std::uint64_t yield_one_in = 1024;
  if (platform::seed() == 0) return;
  const std::uint64_t number = next();
  if (number % yield_one_in == 0) {
    platform::yield_thread();
  } else if (number % pause_one_in == 0) {
    std::uint64_t pauses = (number >> 32) % 128;
    for (; pauses > 0; --pauses) platform::pause_cpu();
  }
}

void detail::relax_point() noexcept { schedule_point(); }

namespace platform {

std::uint64_t seed() noexcept {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("SLEY_SEED");
    return text == nullptr ? std::uint64_t{1} : std::strtoull(text, nullptr, 10);
  }();
  return value;
}

bool ends_slice(bool is_over) noexcept { return is_over || one_in(64); }
bool stays_here() noexcept { return !one_in(8); }
bool stays_in_call() noexcept { return !one_in(2); }
bool joins_others(bool pays) noexcept { return pays || one_in(2); }
bool wakes_for_nothing() noexcept { return one_in(8); }
std::uint32_t kept_in_reserve(std::uint32_t wanted, std::uint32_t procs) noexcept {
  return one_in(16) ? static_cast<std::uint32_t>(next() % procs) : wanted;
}
std::uint32_t watched_in(std::uint32_t wanted, std::uint32_t sets) noexcept {
  return one_in(4) ? static_cast<std::uint32_t>(next() % sets) : wanted;
}
bool is_due(std::uint32_t time, std::uint32_t period) noexcept {
  return time % period == 0 || one_in(4);
}

}  // namespace platform
}  // namespace sley

#endif
