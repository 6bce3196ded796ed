// Waiting for one of several events of a descriptor, as poll(2) does.
#include "support/blocking_calls.hpp"
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

using sley::wait_group;
using sley::os::poll_events;
using sley::os::poll_fd;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using sley_test::two_ends;
using namespace std::chrono_literals;

namespace {

constexpr poll_events both = poll_events::readable | poll_events::writable;

bool has(poll_events all, poll_events some) { return (all & some) != poll_events::none; }

struct socket_ends : two_ends {
  socket_ends() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  }
};
struct pipe_ends : two_ends {
  pipe_ends() { EXPECT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0); }
};

// Until nothing more fits.
std::size_t fill(int fd) {
  const std::vector<char> bytes(4096, 'x');
  std::size_t sum = 0;
  for (ssize_t n; (n = ::write(fd, bytes.data(), bytes.size())) > 0;) {
    sum += static_cast<std::size_t>(n);
  }
  return sum;
}
std::size_t drain(int fd) {
  std::vector<char> bytes(4096);
  std::size_t sum = 0;
  for (ssize_t n; (n = ::read(fd, bytes.data(), bytes.size())) > 0;) {
    sum += static_cast<std::size_t>(n);
  }
  return sum;
}

}  // namespace

GO_TEST(poll_fd, wait_tells_which_of_the_wanted_events_there_are) {
  const socket_ends s;
  const poll_fd end(s.fds[0]);
  EXPECT_EQ(end.wait(both), poll_events::writable);
  ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
  EXPECT_EQ(end.wait(both), both);
  EXPECT_EQ(end.wait(poll_events::readable), poll_events::readable);
  fill(s.fds[0]);
  EXPECT_EQ(end.wait(both), poll_events::readable);
}

GO_TEST(poll_fd, a_wait_for_both_ends_by_either) {
  for (const bool by_reading : {true, false}) {
    const socket_ends s;
    const poll_fd end(s.fds[0]);
    fill(s.fds[0]);
    std::atomic<int> seen = -1;
    go_until_parked([&] { seen = static_cast<int>(end.wait(both)); });
    EXPECT_EQ(seen, -1);
    if (by_reading) {
      ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
    } else {
      drain(s.fds[1]);
    }
    ASSERT_TRUE(eventually([&] { return seen != -1; }));
    EXPECT_EQ(seen, static_cast<int>(by_reading ? poll_events::readable : poll_events::writable));
  }
}

// A goroutine that waits for one event holds up no wait for another.
GO_TEST(poll_fd, waits_for_different_events_do_not_wait_for_each_other) {
  const socket_ends s;
  poll_fd end(s.fds[0]);
  fill(s.fds[0]);
  std::atomic<int> ended = 0;
  std::error_code of_writer;
  go_until_parked([&] {
    end.wait(poll_events::writable, of_writer);
    ++ended;
  });
  for (int i = 0; i < 2; ++i) {
    go_until_parked([&] {
      EXPECT_EQ(end.wait(both), poll_events::readable);
      ++ended;
    });
  }
  ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
  EXPECT_TRUE(eventually([&] { return ended == 2; }));
  let_others_run();
  EXPECT_EQ(ended, 2);
  end.close();
  EXPECT_TRUE(eventually([&] { return ended == 3; }));
  EXPECT_EQ(of_writer, std::errc::operation_canceled);
}

// The peer, as a database server, takes no more requests until its answers are read.
GO_TEST(poll_fd, a_peer_that_waits_to_be_read_from_is_served) {
  const socket_ends s;
  constexpr std::size_t requests = 2'000'000;
  std::thread server([fd = s.fds[1]] {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    std::vector<char> bytes(8192);
    for (std::size_t done = 0; done < requests;) {
      const ssize_t n = ::read(fd, bytes.data(), bytes.size());
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
      for (ssize_t put = 0; put < n;) put += ::write(fd, bytes.data(), bytes.size());
    }
    ::shutdown(fd, SHUT_WR);
  });
  const poll_fd end(s.fds[0]);
  const std::vector<char> request(100'000, 'q');
  std::size_t asked = 0;
  std::size_t answered = 0;
  for (bool has_ended = false; !has_ended;) {
    const poll_events ready = end.wait(asked < requests ? both : poll_events::readable);
    if (has(ready, poll_events::writable)) {
      const std::size_t most = std::min(request.size(), requests - asked);
      const ssize_t n = ::write(s.fds[0], request.data(), most);
      if (n > 0) asked += static_cast<std::size_t>(n);
    }
    if (has(ready, poll_events::readable)) {
      const std::size_t n = drain(s.fds[0]);
      answered += n;
      char byte = 0;
      has_ended = n == 0 && ::read(s.fds[0], &byte, 1) == 0;
    }
  }
  EXPECT_EQ(asked, requests);
  EXPECT_GE(answered, requests);
  sley::blocking([&] { server.join(); });
}

// ---- ends and errors, as poll(2) tells them ----

GO_TEST(poll_fd, hang_up_ends_every_wait) {
  for (const poll_events wanted :
       {poll_events::none, poll_events::readable, poll_events::writable}) {
    socket_ends s;
    const poll_fd end(s.fds[0]);
    fill(s.fds[0]);
    std::atomic<int> seen = -1;
    go_until_parked([&] { seen = static_cast<int>(end.wait(wanted)); });
    ::close(s.fds[1]);
    s.fds[1] = -1;
    ASSERT_TRUE(eventually([&] { return seen != -1; }));
    const auto events = static_cast<poll_events>(seen.load());
    EXPECT_TRUE(has(events, poll_events::hang_up));
    EXPECT_EQ(has(events, poll_events::readable), wanted == poll_events::readable);
  }
}

GO_TEST(poll_fd, a_pipe_without_a_reader_has_failed) {
  pipe_ends p;
  const poll_fd writer(p.fds[1]);
  fill(p.fds[1]);
  std::atomic<int> seen = -1;
  go_until_parked([&] { seen = static_cast<int>(writer.wait(poll_events::writable)); });
  ::close(p.fds[0]);
  p.fds[0] = -1;
  ASSERT_TRUE(eventually([&] { return seen != -1; }));
  EXPECT_TRUE(has(static_cast<poll_events>(seen.load()), poll_events::failure));
}

GO_TEST(poll_fd, the_end_of_the_peers_stream_is_readable) {
  const socket_ends s;
  const poll_fd end(s.fds[0]);
  ASSERT_EQ(::shutdown(s.fds[1], SHUT_WR), 0);
  EXPECT_EQ(end.wait(both), both);
}

GO_TEST(poll_fd, a_descriptor_that_its_owner_has_closed_is_an_error) {
  pipe_ends p;
  const poll_fd end(p.fds[0]);
  ::close(p.fds[0]);
  std::error_code error;
  EXPECT_EQ(end.wait(poll_events::readable, error), poll_events::none);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  p.fds[0] = -1;
}

// ---- waits that end early ----

GO_TEST(poll_fd, the_deadline_of_one_direction_ends_the_waits_for_it) {
  const socket_ends s;
  const poll_fd end(s.fds[0]);
  fill(s.fds[0]);
  std::atomic<int> late = 0;
  wait_group group;
  std::error_code of_writer;
  for (int i = 0; i < 3; ++i) {
    group.go([&] {
      std::error_code error;
      EXPECT_EQ(end.wait(both, error), poll_events::none);
      EXPECT_EQ(error, std::errc::timed_out);
      ++late;
    });
  }
  wait_group writer;
  writer.go([&] { end.wait(poll_events::writable, of_writer); });
  let_others_run();
  end.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
  group.wait();
  EXPECT_EQ(late, 3);
  std::error_code error;
  end.wait(poll_events::readable, error);
  EXPECT_EQ(error, std::errc::timed_out) << "until it is set anew";
  drain(s.fds[1]);
  writer.wait();
  EXPECT_FALSE(of_writer) << of_writer.message();
  end.set_read_deadline(sley::time_point::max());
  ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
  EXPECT_EQ(end.wait(poll_events::readable), poll_events::readable);
}

GO_TEST(poll_fd, a_wait_for_both_ends_with_its_context) {
  for (int round = 0; round < rounds(100); ++round) {
    const socket_ends s;
    const poll_fd end(s.fds[0]);
    fill(s.fds[0]);
    const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    wait_group canceled;
    canceled.go([&, limit = ctx] {
      std::error_code error;
      EXPECT_EQ(end.wait(both, limit, error), poll_events::none);
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
    std::error_code other;
    wait_group group;
    group.go([&] { end.wait(both, other); });
    if (round % 2 == 0) let_others_run();
    cancel();
    canceled.wait();
    ASSERT_EQ(::write(s.fds[1], "x", 1), 1);
    group.wait();
    EXPECT_FALSE(other) << "another wait goes on";
    EXPECT_THROW(end.wait(both, ctx), std::system_error) << "also where it would be ready";
  }
}

FOREIGN_TEST(poll_fd, threads_of_the_users_may_wait) {
  const socket_ends s;
  const poll_fd end(s.fds[0]);
  fill(s.fds[0]);
  std::thread writer([&] { EXPECT_EQ(::write(s.fds[1], "x", 1), 1); });
  EXPECT_EQ(end.wait(both), poll_events::readable);
  writer.join();
}

// Events come at every moment of a wait.
GO_TEST(poll_fd, no_event_is_missed) {
  const socket_ends s;
  const poll_fd one(s.fds[0]);
  const poll_fd other(s.fds[1]);
  constexpr int count = rounds(20'000);
  wait_group group;
  const auto play = [](int fd, const poll_fd& end, bool begins) {
    char byte = 'x';
    for (int i = 0; i < count; ++i) {
      if (begins) {
        EXPECT_EQ(::write(fd, &byte, 1), 1);
      }
      while (::read(fd, &byte, 1) != 1) {
        EXPECT_TRUE(has(end.wait(poll_events::readable), poll_events::readable));
      }
      if (!begins) {
        EXPECT_EQ(::write(fd, &byte, 1), 1);
      }
    }
  };
  group.go([&] { play(s.fds[0], one, true); });
  group.go([&] { play(s.fds[1], other, false); });
  group.wait();
}
