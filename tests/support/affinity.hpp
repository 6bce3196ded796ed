// The CPUs that the process may use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <sched.h>

namespace sley_test {

inline cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return set;
}

inline cpu_set_t first_of(const cpu_set_t& set) {
  cpu_set_t first;
  CPU_ZERO(&first);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &set)) CPU_SET(cpu, &first);
  }
  return first;
}

// Of every thread of the process.
inline void set_affinity(const cpu_set_t& set) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    sched_setaffinity(std::stoi(entry.path().filename()), sizeof(set), &set);
  }
}

}  // namespace sley_test
