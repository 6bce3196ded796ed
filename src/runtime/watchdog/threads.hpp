// Where threads come from, and where they end; see threads.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

void start_template_thread() noexcept;  // at boot
// Ends the process if that many more threads would exceed the limit.
void check_thread_limit(std::uint32_t more) noexcept;

// Ends threads that had nothing to do for a whole period. Some are kept, because a preemption needs
// a thread at once. [sysmon]
class idle_threads {
 public:
  void look(std::int64_t now_ns) noexcept;
  bool is_settled() const noexcept;  // there is none to end

 private:
  std::uint32_t least_ = 0;  // in this period
  std::int64_t period_end_ns_ = 0;
};

}  // namespace sley::rt
