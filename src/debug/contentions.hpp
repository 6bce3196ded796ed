// The contents of the profiles of waits, as values, as pprof's message and as text.
#pragma once

#include "debug/code_names.hpp"
#include "runtime/state/contention.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sley::debug {

// Events with one stack, in one system call.
struct contention {
  double count = 0;
  std::uint64_t delay_ns = 0;
  std::uint64_t lost_ns = 0;          // thread blocks: the part of it with the processor
  std::int64_t call = 0;              // thread blocks: see runtime/state/thread_block.hpp
  std::vector<std::uintptr_t> stack;  // return addresses, innermost first
};

// The events so far, or a part of them. Each stack keeps its place.
using contentions = std::vector<contention>;

contentions contentions_so_far(const rt::contention_profile& profile);
contention contention_so_far(const rt::contention_profile& profile, std::uint32_t number);
// What has come between two looks at a profile.
contentions contentions_between(const contentions& before, contentions after);

// Without the runtime's own frames, the longest delay first. For a large stack.
contentions contentions_to_show(const contentions& events, code_names& names);
// A whole number, as readers want it.
std::uint64_t count_of(const contention& e);
// Its stack, or a function whose name says that it could not be read.
std::vector<std::uintptr_t> stack_to_show(const contention& e);

// The block or the mutex profile, in pprof's format, and as text in the layout of Go's.
std::string contention_message(const contentions& events,
                               std::optional<std::chrono::nanoseconds> duration);
std::string contention_text(const contentions& events, const std::string& first_lines);

}  // namespace sley::debug
