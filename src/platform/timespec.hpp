// The system's form of times.
#pragma once

#include <cstdint>
#include <ctime>

namespace sley::platform {

inline constexpr std::int64_t ns_per_s = 1'000'000'000;

constexpr timespec to_timespec(std::int64_t ns) noexcept {
  return {.tv_sec = ns / ns_per_s, .tv_nsec = ns % ns_per_s};
}

constexpr std::int64_t to_ns(const timespec& t) noexcept {
  return std::int64_t{t.tv_sec} * ns_per_s + t.tv_nsec;
}

}  // namespace sley::platform
