// Settings from the environment, read at boot. A value that is not a sane number is one clear line
// on stderr, and the default. None are read in a program that runs with others' rights (AT_SECURE).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// SLEY_MAXPROCS, 1 to 256; default: the CPUs that the process may use, see platform/cpu_limit.hpp.
struct procs_setting {
  std::uint32_t procs;
  std::uint32_t automatic;  // the default
  bool is_given;
};
procs_setting procs_option() noexcept;

// SLEY_STACK_SIZE, bytes or with a suffix K, M or G, rounded up to pages; default: 256 KiB.
std::size_t stack_bytes_option() noexcept;

// The main goroutine's stack: as large as main()'s (RLIMIT_STACK; 64 MiB if that is unlimited), and
// no smaller than the default reservation.
std::size_t main_stack_bytes(std::size_t default_bytes) noexcept;

// SLEYDEBUG, settings as name=value with commas between; from Go's GODEBUG.
struct debug_settings {
  std::int64_t schedtrace_ns = 0;      // schedtrace=N: a line about the scheduler every N ms
  bool scheddetail = false;            // scheddetail=1: with every P, M and G
  std::int64_t slice_ns = 10'000'000;  // slice=N: the time slice in ms, 1 to 100
  bool async_preempt = true;           // asyncpreemptoff=1: only at calls of the library
  bool keeps_reserve = true;           // reserveoff=1: all processors are used; reserve.cpp
  bool advises_guards = true;          // guardadviceoff=1: of stacks, by mprotect(2) instead
  bool batches_calls = false;          // uring=1: calls on sockets and files; queue/batch.hpp
  std::uint32_t sched_sample = 512;  // schedsample=N: one switch in N is measured; sched_meter.hpp
  bool reports_failures = true;      // failurereportoff=1: nothing is said of SIGSEGV and others
  std::uint32_t page_out_s = 0;      // pageout=N: stacks of waits of N seconds go to swap; trim.cpp
  bool finds_sequential_races = false;  // seqraces=1: see platform/unseen.hpp
  static constexpr std::size_t flight_bytes = 1024;
  char flight[flight_bytes] = {};  // flight=PATH: where a flight recorder leaves the last events
};
void read_debug_settings() noexcept;  // once, at boot
const debug_settings& debug_options() noexcept;

}  // namespace sley::rt
