// The sights of a schedule, in words.
#pragma once

#include "platform/simulated/simulation.hpp"

#include <string>

namespace sley::testing {

// A line for each goroutine that passes another place than the line before; only the last lines if
// there are many.
std::string schedule_text(const platform::simulated::journal& j);

}  // namespace sley::testing
