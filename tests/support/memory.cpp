#include "support/memory.hpp"

#include "support/proc_figure.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include <malloc.h>

namespace sley_test {

std::size_t available_memory() { return proc_figure("/proc/meminfo", "MemAvailable:") * 1024; }

std::size_t resident_memory() { return proc_figure("/proc/self/status", "VmRSS:") * 1024; }

std::size_t allocated_memory() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The descriptor that lists them is not counted.
int open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all))) - 1;
}

std::vector<int> ring_descriptors() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor that lists them
    if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[io_uring]") {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

int as_many_as_fit(int wanted, std::size_t bytes_each) {
  const std::size_t fitting = available_memory() / 2 / bytes_each;
  if (static_cast<std::size_t>(wanted) <= fitting) return wanted;
  std::printf("only %zu instead of %d: %zu MiB of memory are available\n", fitting, wanted,
              available_memory() >> 20);
  return static_cast<int>(std::max<std::size_t>(fitting, 1));
}

}  // namespace sley_test
