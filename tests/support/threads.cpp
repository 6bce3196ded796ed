#include "support/threads.hpp"

#include "support/proc_figure.hpp"

#include <cerrno>
#include <ctime>
#include <string>

#include <unistd.h>

namespace sley_test {

void compute_for(std::chrono::nanoseconds d) {
  const auto end = std::chrono::steady_clock::now() + d;
  while (std::chrono::steady_clock::now() < end) {
  }
}

bool sleep_in_the_kernel(std::chrono::nanoseconds d) {
  using namespace std::chrono_literals;
  const timespec time = {d / 1s, (d % 1s).count()};
  return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == 0;
}

int get_errno() { return errno; }
void set_errno(int error) { errno = error; }

int threads_of_process() { return static_cast<int>(proc_figure("/proc/self/status", "Threads:")); }

bool thread_exists(pid_t tid) {
  return ::access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) == 0;
}

}  // namespace sley_test
