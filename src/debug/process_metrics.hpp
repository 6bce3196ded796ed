// What Prometheus wants to know of each process.
#pragma once

#include <sley/debug.hpp>

#include <vector>

namespace sley::debug {

// Appends the metrics `process_...`, as far as the system tells them.
void append_process_metrics(std::vector<metric>& all);

}  // namespace sley::debug
