// Shared by the tests of calls that block their thread.
#pragma once

#include "support/harness.hpp"

#include <chrono>

#include <fcntl.h>
#include <unistd.h>

namespace sley_test {

// Two descriptors, closed when it goes.
struct two_ends {
  int fds[2] = {-1, -1};
  two_ends() = default;
  ~two_ends() {
    ::close(fds[0]);
    ::close(fds[1]);
  }
  two_ends(const two_ends&) = delete;
  two_ends& operator=(const two_ends&) = delete;
};

// A pipe whose reader blocks its thread.
struct byte_pipe : two_ends {
  byte_pipe() { EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0); }
  char read() const {
    char byte = 0;
    EXPECT_EQ(::read(fds[0], &byte, 1), 1);
    return byte;
  }
  void write(char byte) const { EXPECT_EQ(::write(fds[1], &byte, 1), 1); }
};

// Many short sleeps, each blocking a thread, take as long as a few: `sleep` is called in `count`
// goroutines at once. The sleeps are longer if that many threads take their time to start.
template <class Sleep>
void expect_sleeps_overlap(int count, std::chrono::nanoseconds each, Sleep sleep) {
  const auto start = std::chrono::steady_clock::now();
  sley::wait_group group;
  for (int i = 0; i < count; ++i) group.go([each, sleep] { sleep(each); });
  group.wait();
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, each);
  if (took >= count * each / 4 && each < std::chrono::milliseconds(100)) {
    expect_sleeps_overlap(count, 4 * each, sleep);
    return;
  }
  EXPECT_LT(took, count * each / 4);
}

}  // namespace sley_test
