// A modelled machine: CPUs that run one after the other in the order of their virtual time, and
// what an access to shared memory costs, given which CPU has its cache line.
//
// A CPU is a context of its own with a clock of its own. It goes on while its clock is behind the
// others' (within `skew_ns`), so accesses to a line happen in the order of time. A line is in one
// CPU's cache, which may write it, or in several. Getting it from another CPU takes a transfer, and
// a line is transferred once at a time: that is what contention costs. A store does not wait for
// its line; a load and a locked instruction do. Loads of several CPUs overlap in part.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

namespace scale {

// In ns. Measured on two CPUs that share a cache, but for what concerns other cache domains.
struct costs {
  double hit = 0.5;             // an access to a line of its own
  double locked = 4.7;          // a locked instruction on such a line
  double transfer = 60;         // of a line, from a CPU of the same cache domain
  double far_transfer = 130;    // from another domain
  double between_loads = 25;    // of one line by several CPUs
  int domain = 8;               // CPUs that share a cache
  double membarrier = 260;      // of the caller, and
  double membarrier_each = 40;  // for each other CPU that runs, and
  double interruption = 700;    // of each of these
  double pause = 10;            // between two looks at a word
  double futex_wait = 700;      // of the caller, before it sleeps
  double futex_wake = 1'500;    // of the caller
  double wake_latency = 5'000;  // until the thread that sleeps runs
};

enum class kind : std::uint8_t { load, store, locked };

inline constexpr double never = std::numeric_limits<double>::infinity();

struct result {
  double end_ns = 0;   // when the last CPU went to sleep for ever
  double busy_ns = 0;  // of all CPUs, while they did not sleep
};

// Runs body(cpu), which does not return, on each of the CPUs until all sleep for ever.
result run(int cpus, const costs& c, const std::function<void(int)>& body);

// ---- on a CPU; elsewhere (before and after run()) they do nothing ----

int this_cpu();
double now_ns();
void access(const void* where, kind k);
void compute(double ns);
void pause();
void membarrier();
// Sleeps at the address until woken or until the time. True if woken.
bool sleep_on(const void* address, double until_ns);
// Wakes the CPUs that have slept longest at the address, `most` of them.
void wake_on(const void* address, int most);
// Brings the end of a CPU's sleep forward.
void sleep_no_longer_than(int cpu, double until_ns);

}  // namespace scale
