// The soak: generated workloads at the same time, for as long as one likes, in one process.
//
//   soak.cpp        the rounds: which workloads, how long, with how many processors, checked how
//   tallies.cpp     the work done, as figures
//   watch.cpp       threads, memory, descriptors, leaked goroutines; the watchdog
//   *_laps.cpp      the workloads, by family
//
// A workload is a function that is called lap after lap. A lap draws its parameters from the source
// that it is given, starts what it needs, keeps exact accounts, and returns when all that it has
// started has ended and the accounts balance (EXPECT_*). It takes well below a second, does its
// work in any goroutine or thread, next to any other lap, and while the number of processors
// changes.
#pragma once

#include "support/harness.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace soak {

using sley_test::random_source;

// The counted things, for the table at the end. The watchdog takes any of it for progress.
enum class tally : unsigned char {
  laps,
  channel_values,
  selects,
  locks_taken,
  waits,
  goroutines,
  contexts,
  exceptions,
  timers,
  connections,
  stream_bytes,
  datagrams,
  processes,
  stack_overflows,
  signals,
  blocking_calls,
  interrupted_calls,
  computations,
  locked_goroutines,
  foreign_threads,
  processor_changes,
  leak_searches,
  count_of_tallies,
};

void count(tally what, std::uint64_t n = 1);
std::uint64_t counted(tally what);
// Of all together.
std::uint64_t counted();
const char* name_of(tally what);

struct workload {
  const char* name;
  void (*lap)(random_source& random);
};

bool register_workload(workload w);
// All of them, ordered by name.
std::vector<workload> workloads();

// A round changes the number of processors to at most this many.
constexpr int most_processors = 8;

// Threads, memory and descriptors after each round.
class resources {
 public:
  // Takes the resources of now as the ones to expect between rounds, plus an epoll instance for
  // each of most_processors.
  resources();

  // Expects the descriptors of the start, and keeps the other figures.
  void look();
  // Expects that the last third of all looks saw about as much as the third before.
  void expect_flat() const;
  std::string to_string() const;

 private:
  struct sample {
    std::size_t resident_bytes;
    int threads;
  };
  int descriptors_;
  std::vector<sample> samples_;
};

// At any time: all goroutines of the workloads can go on, and so debug::leaks names none.
void expect_no_leaks();

// From now on: if nothing is counted for a minute, or for more where other processes take the CPUs,
// the plan is printed and SIGQUIT raised, which prints all goroutines and ends the process.
void start_watchdog();
// The text that the watchdog and a failure print.
void set_plan(const std::string& plan);
std::string plan();

}  // namespace soak

#define SOAK_LAP(name)                                                           \
  static void name##_lap(soak::random_source& random);                           \
  static const bool name##_known = soak::register_workload({#name, name##_lap}); \
  static void name##_lap(soak::random_source& random)
