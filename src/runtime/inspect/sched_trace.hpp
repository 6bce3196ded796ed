// SLEYDEBUG=schedtrace=N,scheddetail=1; see sched_trace.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

// Prints the state of the scheduler if it is time. [sysmon]
class sched_tracer {
 public:
  void print_if_due(std::int64_t now_ns) noexcept;

 private:
  std::int64_t started_ns_ = 0;
  std::int64_t next_ns_ = 0;
  char gathered_[16 * 1024] = {};  // the lines of one state
};

}  // namespace sley::rt
