// Who came by where, in words.
#pragma once

#include "platform/simulated/simulation.hpp"

#include <string>

namespace sley::testing {

// A line for each goroutine that comes by at another place than the line before; the last ones, if
// there are many.
std::string schedule_text(const platform::simulated::journal& j);

}  // namespace sley::testing
