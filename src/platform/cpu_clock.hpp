// The clocks of the threads' CPU time.
#pragma once

#include <cstdint>
#include <ctime>

namespace sley::platform {

// The result of pthread_getcpuclockid for a thread: see MAKE_THREAD_CPUCLOCK in the kernel.
inline clockid_t cpu_clock_of(std::int32_t thread_id) noexcept {
  constexpr clockid_t scheduler_clock_of_thread = 6;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread_id) << 3) | scheduler_clock_of_thread;
}

}  // namespace sley::platform
