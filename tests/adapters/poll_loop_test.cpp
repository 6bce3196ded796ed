// <sley/poll_loop.hpp> with pipes for the descriptors of a library.
#include "support/harness.hpp"
#include "support/memory.hpp"

#include <sley/poll_loop.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using enum sley::os::poll_events;
using sley::poll_loop;
using sley::os::poll_events;
using namespace std::chrono_literals;

namespace {

// A pipe as a library of C has it.
struct raw_pipe {
  raw_pipe() { EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0); }
  ~raw_pipe() {
    close_end(0);
    close_end(1);
  }
  raw_pipe(const raw_pipe&) = delete;
  raw_pipe& operator=(const raw_pipe&) = delete;

  int reader() const { return ends[0]; }
  void fill() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void drain() const {
    char c;
    EXPECT_EQ(::read(ends[0], &c, 1), 1);
  }
  void close_end(int i) {
    if (ends[i] >= 0) ::close(ends[i]);
    ends[i] = -1;
  }

  int ends[2] = {-1, -1};
};

void do_nothing() {}

}  // namespace

GO_TEST(poll_loop, callbacks_come_one_at_a_time_in_one_goroutine) {
  constexpr int pipes = 20;
  constexpr int writes = sley_test::rounds(100);
  std::vector<raw_pipe> all(pipes);
  std::set<std::uint64_t> goroutines;  // plain memory, as that of a library
  int entries = 0;
  sley::wait_group writers, to_come;
  poll_loop loop(
      [&](int fd, poll_events events) {
        EXPECT_EQ(events, readable);
        goroutines.insert(sley::this_goroutine::id());
        char c;
        while (::read(fd, &c, 1) == 1) {
          ++entries;
          to_come.done();
        }
      },
      do_nothing);
  to_come.add(pipes * writes);
  for (const raw_pipe& p : all) {
    loop.watch(p.reader(), readable);
    writers.go([&p] {
      for (int i = 0; i < writes; ++i) {
        p.fill();
        sley::this_goroutine::yield();
      }
    });
  }
  for (int i = 0; i < writes; ++i) loop.run([&] { ++entries; });
  writers.wait();
  to_come.wait();
  loop.stop();
  EXPECT_EQ(entries, (pipes + 1) * writes);
  EXPECT_EQ(goroutines.size(), 1u);
  EXPECT_FALSE(goroutines.contains(sley::this_goroutine::id()));
}

GO_TEST(poll_loop, run_returns_and_throws_what_its_function_does) {
  poll_loop loop([](int, poll_events) {}, do_nothing);
  int i = 7;
  int& same = loop.run([&]() -> int& { return i; });
  EXPECT_EQ(&same, &i);
  EXPECT_EQ(loop.run([&] { return loop.run([] { return std::string("inside"); }); }), "inside");
  EXPECT_THROW(loop.run([] { throw std::length_error("out of run"); }), std::length_error);
  std::thread([&] { EXPECT_EQ(loop.run([&] { return ++i; }), 8); }).join();
  loop.stop();
  EXPECT_EQ(loop.run([&] { return ++i; }), 9);  // the library is cleaned up
}

GO_TEST(poll_loop, a_descriptor_is_told_of_until_its_events_are_taken_or_not_wanted) {
  const raw_pipe p;
  int calls = 0;
  sley::chan<void> done(1);
  sley::chan<poll_events> seen(1);
  poll_loop loop(
      [&](int fd, poll_events events) {
        if (events == writable) {
          loop.forget(fd);
          seen.send(events);
        } else if (++calls == 3) {  // it was not read from before
          p.drain();
          done.send();
        }
      },
      do_nothing);
  loop.watch(p.reader(), readable);
  p.fill();
  done.receive();
  loop.watch(p.ends[1], readable);
  loop.watch(p.ends[1], writable);  // instead
  EXPECT_EQ(seen.receive(), writable);
  loop.forget(p.ends[1]);  // again, which does nothing
  loop.stop();
  EXPECT_EQ(calls, 3);
}

GO_TEST(poll_loop, the_other_end_that_goes_is_told_whatever_is_wanted) {
  raw_pipe p;
  sley::chan<poll_events> seen(1);
  poll_loop loop(
      [&](int fd, poll_events events) {
        loop.forget(fd);
        seen.send(events);
      },
      do_nothing);
  loop.watch(p.reader(), none);
  p.fill();
  p.close_end(1);
  EXPECT_EQ(seen.receive(), hang_up);
}

// Both pipes are ready. The callback for the first one removes the other one, closes it, and opens
// a new pipe whose reader gets its number.
GO_TEST(poll_loop, a_new_descriptor_hears_nothing_that_was_about_the_old_one_of_its_number) {
  const raw_pipe one, two, last;
  const raw_pipe later;
  std::vector<int> told;
  int reused = -1;
  sley::chan<void> seen(4);
  poll_loop loop(
      [&](int fd, poll_events) {
        told.push_back(fd);
        loop.forget(fd);
        if (reused < 0) {
          reused = fd == one.reader() ? two.reader() : one.reader();
          loop.forget(reused);
          EXPECT_EQ(::dup3(later.reader(), reused, O_CLOEXEC), reused);
          loop.watch(reused, readable);
        }
        seen.send();
      },
      do_nothing);
  loop.run([&] {
    one.fill();
    two.fill();
    loop.watch(one.reader(), readable);
    loop.watch(two.reader(), readable);
  });
  seen.receive();
  loop.watch(last.reader(), readable);
  last.fill();
  seen.receive();
  loop.run([&] { EXPECT_EQ(told.back(), last.reader()) << "and not of " << reused; });
  later.fill();
  seen.receive();
  loop.stop();
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(told.back(), reused);
}

GO_TEST(poll_loop, the_last_time_set_counts_and_comes_once) {
  const raw_pipe p;
  int calls = 0;
  sley::chan<void> due(1), seen(1);
  poll_loop loop(
      [&](int, poll_events) {
        p.drain();
        seen.send();
      },
      [&] {
        ++calls;
        due.send();
      });
  loop.watch(p.reader(), readable);
  loop.run([&] {
    loop.set_timer(1h);
    loop.set_timer(1ms);
  });
  due.receive();
  for (const sley::time_span later :
       {sley::time_span(1h), sley::time_span(sley::time_span::max())}) {
    loop.run([&] {
      loop.set_timer(-1s);
      sley_test::let_others_run();  // the goroutine is woken, and waits for its turn
      loop.set_timer(later);
      p.fill();
    });
    seen.receive();
  }
  loop.run([&] { EXPECT_EQ(calls, 1); });
  loop.run([&] { loop.set_timer(0s); });
  due.receive();
  loop.stop();
  EXPECT_EQ(calls, 2);
}

GO_TEST(poll_loop, a_descriptor_that_epoll_refuses_is_an_error) {
  poll_loop loop([](int, poll_events) {}, do_nothing);
  std::error_code error;
  loop.watch(-1, readable, error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  const raw_pipe p;
  loop.watch(p.reader(), readable, error);
  EXPECT_FALSE(error);
  const sley::os::file regular = sley::os::file::open("/proc/self/exe", O_RDONLY);
  try {
    loop.watch(regular.native_handle(), readable);
    ADD_FAILURE() << "a regular file is always ready";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_not_permitted);
  }
  EXPECT_THROW(poll_loop(nullptr, do_nothing), std::invalid_argument);
  EXPECT_THROW(poll_loop([](int, poll_events) {}, nullptr), std::invalid_argument);
}

GO_TEST(poll_loop, nothing_is_left_of_a_loop_that_has_stopped) {
  const raw_pipe p;
  poll_loop([](int, poll_events) {}, do_nothing).stop();  // sley's own descriptors are open
  const int before = sley_test::open_descriptors();
  int calls = 0;
  {
    poll_loop loop([&](int, poll_events) { ++calls; }, [&] { ++calls; });
    loop.watch(p.reader(), readable);
    loop.run([&] { loop.set_timer(1h); });
    loop.stop();
    p.fill();
    loop.run([&] { loop.set_timer(0s); });
    sley_test::let_others_run();
    loop.stop();
  }
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(sley_test::eventually([&] { return sley_test::open_descriptors() <= before; }))
      << sley_test::open_descriptors() << " instead of " << before;
}
