// The workloads, one table for each section of SPEC.md. A new row is one function in its section's
// file and one line in the table at that file's end; a new file is one more table here and in
// main.cpp.
#pragma once

#include "harness.hpp"

#include <span>

namespace bench {

struct workload {
  const char* name;
  int n;     // default size
  int warm;  // size of the discarded warm-up pass, 0 for none
  outcome (*run)(int n);
};

std::span<const workload> spawn_rows();
std::span<const workload> chan_rows();
std::span<const workload> sync_rows();
std::span<const workload> program_rows();
std::span<const workload> time_rows();
std::span<const workload> memory_rows();
std::span<const workload> system_rows();
std::span<const workload> io_rows();

}  // namespace bench
