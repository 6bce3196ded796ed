// Aim: descriptors are waited for whatever RLIMIT_NOFILE is. Method: a pipe under the limit 0,
// where ppoll(2) refuses everything, and under the usual one.
#include "platform/poll_any.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

using sley::platform::poll_any;
using namespace std::chrono_literals;

namespace {

class poll_any_test : public testing::TestWithParam<bool> {
 protected:
  poll_any_test() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    if (!GetParam()) return;
    const rlimit none = {0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~poll_any_test() override {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : ends_) ::close(fd);
  }

  void write_one() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

  int ends_[2] = {};
  rlimit before_ = {};
};

constexpr timespec at_once = {};

TEST_P(poll_any_test, only_ready_descriptors_are_found) {
  std::array<pollfd, 2> both = {pollfd{.fd = ends_[0], .events = POLLIN, .revents = 0},
                                pollfd{.fd = ends_[1], .events = POLLOUT, .revents = 0}};
  EXPECT_EQ(poll_any(both, &at_once), 1);
  EXPECT_EQ(both[0].revents, 0);
  EXPECT_EQ(both[1].revents, POLLOUT);
  write_one();
  EXPECT_EQ(poll_any(both, nullptr), 2);
  EXPECT_EQ(both[0].revents, POLLIN);
}

TEST_P(poll_any_test, a_wait_lasts_as_long_as_it_may) {
  pollfd one = {.fd = ends_[0], .events = POLLIN, .revents = 0};
  const timespec timeout = {.tv_sec = 0, .tv_nsec = 20'000'000};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(poll_any({&one, 1}, &timeout), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_EQ(timeout.tv_nsec, 20'000'000);
}

TEST_P(poll_any_test, a_closed_descriptor_is_told) {
  const int gone = ends_[1] + 100;
  std::array<pollfd, 2> both = {pollfd{.fd = gone, .events = POLLIN, .revents = 0},
                                pollfd{.fd = ends_[0], .events = POLLIN, .revents = 0}};
  EXPECT_EQ(poll_any(both, nullptr), 1);
  EXPECT_EQ(both[0].revents, POLLNVAL);
  EXPECT_EQ(both[1].revents, 0);
}

INSTANTIATE_TEST_SUITE_P(limits, poll_any_test, testing::Bool());

TEST(poll_any, finds_descriptors_of_high_numbers_under_any_limit) {
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int high = ::fcntl(ends[0], F_DUPFD_CLOEXEC, static_cast<int>(before.rlim_cur) - 1);
  ASSERT_GE(high, 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  pollfd one = {.fd = high, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll_any({&one, 1}, nullptr), 1);
  EXPECT_EQ(one.revents, POLLIN);
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const int fd : {high, ends[0], ends[1]}) ::close(fd);
}

}  // namespace
