// The contents of the wall-clock profile, as pprof's message.
#pragma once

#include "debug/contentions.hpp"

#include <chrono>
#include <string>

namespace sley::debug {

// On while such an object lives.
class wall_profiling {
 public:
  wall_profiling();  // std::bad_alloc
  ~wall_profiling();
  wall_profiling(const wall_profiling&) = delete;
  wall_profiling& operator=(const wall_profiling&) = delete;
};

std::string wall_message(const contentions& events, std::chrono::nanoseconds duration);

}  // namespace sley::debug
