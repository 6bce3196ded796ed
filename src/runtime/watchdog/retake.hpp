// Taking processors from goroutines that block or compute; see retake.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

struct machine;

// The result of the last look at a processor. A CPU time of -1 was not asked for yet.
struct last_look {
  const machine* m = nullptr;  // null: only calls_last is valid
  std::uint32_t tick = 0;
  std::uint32_t call = 0;
  std::uint64_t switches = 0;
  std::int64_t slice_from_ns = 0;  // when this tick was first seen
  std::int64_t slice_cpu_ns = -1;  // the thread's CPU time at the first look after that
  std::int64_t still_from_ns = 0;  // when this call and this count of switches were first seen
  std::int64_t turn_cpu_ns = -1;   // the thread's CPU time at the first look after that
  std::int64_t cpu_ns = -1;        // the thread's CPU time
  std::int64_t cpu_from_ns = 0;    // when this CPU time was first seen
  // Only while the profile of thread blocks is on: the CPU time at the last look, and when it was
  // first seen.
  std::int64_t rest_cpu_ns = -1;
  std::int64_t rest_from_ns = 0;
  bool is_flagged = false;        // the flag for the end of the slice was raised
  std::int64_t flag_cpu_ns = -1;  // the thread's CPU time at that moment
  // The last event here was that the processor was taken from a call. While all calls are long,
  // more threads are needed, and sysmon takes the processor from the next call without waiting.
  bool calls_last = false;
};

struct look_result {
  bool has_taken = false;  // a processor was taken away
  std::int64_t
      look_at_ns;  // when the next look is due at the latest; `never` if it does not matter
  std::uint32_t without_machine = 0;  // processors that are idle or on their way
};

// [sysmon]
look_result look_at_processors(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
