// How many orders each program is played in.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sley_test {

// SLEY_SCHEDULES; 200 if it is not set.
inline std::uint64_t schedules() {
  const char* given = std::getenv("SLEY_SCHEDULES");
  return given == nullptr ? 200 : std::strtoull(given, nullptr, 10);
}

}  // namespace sley_test
