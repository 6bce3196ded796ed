// A program that runs some of SPEC.md's workloads on another library. Each such program defines
// the two functions below; peer_main.cpp has the rest.
#pragma once

#include "rows.hpp"

#include <functional>
#include <span>

namespace bench {

// The workloads that the library can run, with SPEC.md's names.
std::span<const workload> peer_rows();

// Runs the body on a task of the library, which has this many threads.
void run_on_peer(int threads, const std::function<void()>& body);

}  // namespace bench
