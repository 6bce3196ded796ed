// The contents of the profile of thread blocks, as pprof's message and as text.
#pragma once

#include "debug/contentions.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace sley::debug {

std::string thread_block_message(const contentions& events,
                                 std::optional<std::chrono::nanoseconds> duration);
std::string thread_block_text(const contentions& events);

}  // namespace sley::debug
