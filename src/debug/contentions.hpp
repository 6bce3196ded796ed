// The contents of the block and the mutex profile, as values, as pprof's message and as text.
#pragma once

#include "runtime/state/contention.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sley::debug {

// Events with one stack.
struct contention {
  double count = 0;
  std::uint64_t delay_ns = 0;
  std::vector<std::uintptr_t> stack;  // return addresses, innermost first
};

// The events so far, or a part of them. Each stack keeps its place.
using contentions = std::vector<contention>;

contentions contentions_so_far(const rt::contention_profile& profile);
// What has come between two looks at a profile.
contentions contentions_between(const contentions& before, contentions after);

// In pprof's format, and as text in the layout of Go's.
std::string contention_message(const contentions& events,
                               std::optional<std::chrono::nanoseconds> duration);
std::string contention_text(const contentions& events, const std::string& first_lines);

}  // namespace sley::debug
