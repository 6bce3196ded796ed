// What is shown of goroutines.
#pragma once

#include "inspect/goroutines.hpp"
#include "platform/symbols.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sley::inspect {

// Each with its stack, in the layout of the library's own dumps, to the descriptor.
void print_dump(int fd, const std::vector<seen_goroutine>& all,
                const platform::symbol_source& names);

// The goroutine profile in pprof's format.
std::string profile_of(const std::vector<seen_goroutine>& all,
                       const platform::symbol_source& names);

// A line for each group of goroutines in the same state and at the same place, the largest first,
// `most_groups` at most.
std::string table_of(const std::vector<seen_goroutine>& all, const platform::symbol_source& names,
                     std::size_t most_groups);

}  // namespace sley::inspect
