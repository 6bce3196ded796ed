// As long as anything can still run, however late, no deadlock is reported: timers, goroutines in
// calls that block, foreign threads. The children are quiet for longer than the detector may take.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <sley/net.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

using sley::chan;
using sley::run;
using sley_test::on_this_thread;
using sley_test::sleep_in_the_kernel;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

constexpr auto quiet = 2500ms;

// Main waits for a value, which comes from where `start` says, after a quiet time.
template <class Start>
int wait_for(Start start) {
  return run([&] {
    const chan<int> c;
    start(c);
    return *c.receive();
  });
}

// Main waits for a value that never comes, until a signal ends the process after a quiet time.
template <class Wait>
int wait_for_a_signal(Wait wait) {
  constexpr unsigned quiet_seconds = 3;
  static_assert(std::chrono::seconds(quiet_seconds) >= quiet);
  std::signal(SIGALRM, [](int) { ::_exit(7); });
  ::alarm(quiet_seconds);
  run(wait);
  return 3;
}

}  // namespace

CHILD_MAIN(waits_for_a_function_timer) {
  std::optional<sley::timer> timer;
  return wait_for([&](const chan<int>& c) { timer = sley::after_func(quiet, [c] { c.send(7); }); });
}
CHILD_MAIN(waits_for_a_channel_timer) {
  return run([] { return sley::after(quiet).receive() ? 7 : 3; });
}
CHILD_MAIN(waits_for_a_tick) {
  return run([] {
    sley::ticker ticker(quiet);
    return ticker.channel().receive() ? 7 : 3;
  });
}
CHILD_MAIN(waits_with_a_timeout) {
  return run([] {
    return sley::select(sley::on_receive(chan<int>()), sley::on_timeout(quiet)) == 1 ? 7 : 3;
  });
}
CHILD_MAIN(waits_for_a_sleeper) {
  return wait_for([](const chan<int>& c) {
    sley::go([c] {
      this_goroutine::sleep_for(quiet);
      c.send(7);
    });
  });
}
CHILD_MAIN(waits_for_an_announced_block) {
  return wait_for([](const chan<int>& c) {
    sley::go([c] {
      sley::blocking([] { sleep_in_the_kernel(quiet); });
      c.send(7);
    });
  });
}
CHILD_MAIN(waits_for_an_unannounced_block) {
  return wait_for([](const chan<int>& c) {
    sley::go([c] {
      sleep_in_the_kernel(quiet);
      c.send(7);
    });
  });
}
CHILD_MAIN(waits_for_a_locked_block) {
  return wait_for([](const chan<int>& c) {
    sley::go([c] {
      const sley::os_thread_lock lock;
      sleep_in_the_kernel(quiet);
      c.send(7);
    });
  });
}
CHILD_MAIN(waits_for_a_computation) {
  return wait_for([](const chan<int>& c) {
    sley::go([c] {
      sley_test::compute_for(quiet);
      c.send(7);
    });
  });
}
CHILD_MAIN(waits_for_a_thread) {
  std::thread thread;
  const int status = wait_for([&](const chan<int>& c) {
    thread = std::thread([c] {
      sleep_in_the_kernel(quiet);
      c.send(7);
    });
  });
  thread.join();
  return status;
}
CHILD_MAIN(waits_for_a_thread_that_sleeps_in_the_library) {
  std::thread thread;
  const int status = wait_for([&](const chan<int>& c) {
    thread = std::thread([c] {
      this_goroutine::sleep_for(quiet);
      c.send(7);
    });
  });
  thread.join();
  return status;
}
CHILD_MAIN(waits_on_its_thread_for_a_thread) {
  std::thread thread;
  const int status = run(on_this_thread, [&] {
    const chan<int> c;
    thread = std::thread([c] {
      sleep_in_the_kernel(quiet);
      c.send(7);
    });
    return *c.receive();
  });
  thread.join();
  return status;
}
CHILD_MAIN(goroutines_wait_for_a_foreign_main) {
  const chan<int> c;
  const chan<int> back(1);
  sley::go([=] { back.send(*c.receive() + 1); });
  sleep_in_the_kernel(quiet);
  c.send(6);
  return *back.receive();
}
CHILD_MAIN(a_foreign_main_waits_with_a_timeout) {
  int out = 0;
  return chan<int>().try_receive_for(out, quiet) == sley::chan_status::timeout ? 7 : 3;
}
CHILD_MAIN(a_foreign_main_waits_for_a_sleeper) {
  const chan<int> c;
  sley::go([c] {
    this_goroutine::sleep_for(quiet);
    c.send(7);
  });
  return *c.receive();
}
CHILD_MAIN(goroutines_wait_after_the_run) {
  const int status = run([] {
    for (int i = 0; i < 3; ++i) sley::go([] { sley::block_forever(); });
    this_goroutine::yield();
    return 7;
  });
  sleep_in_the_kernel(quiet);
  return status;
}
// E14, TestNetpollDeadlock: the poller has been started for a dial that failed.
CHILD_MAIN(ends_after_a_failed_dial) {
  try {
    sley::net::tcp_stream::connect("127.0.0.1:1");
    return 3;
  } catch (const std::system_error&) {
  }
  return run([] {
    sley::go([] {});
    this_goroutine::yield();
    return 7;
  });
}
CHILD_MAIN(waits_for_a_timer_of_the_c_library) {
  static const auto* c = new chan<int>;
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = [](sigval) { c->send(7); };
  timer_t timer = {};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 4;
  const auto ns = std::chrono::nanoseconds(quiet).count();
  const itimerspec once = {{0, 0}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  if (timer_settime(timer, 0, &once, nullptr) != 0) return 5;
  return run([] { return *c->receive(); });
}

CHILD_MAIN(sleeps_for_ever) {
  return wait_for_a_signal([] { this_goroutine::sleep_for(std::chrono::hours::max()); });
}
CHILD_MAIN(waits_for_a_timer_of_the_longest) {
  return wait_for_a_signal([] { sley::after(std::chrono::hours::max()).receive(); });
}

// All at the same time, because each is quiet for long.
TEST(no_deadlock, is_seen_where_something_still_can_run) {
  if (sley_test::under_tsan) GTEST_SKIP() << "there is no detector";
  std::vector<std::string> names = {"waits_for_a_function_timer",
                                    "waits_for_a_channel_timer",
                                    "waits_for_a_tick",
                                    "waits_with_a_timeout",
                                    "waits_for_a_sleeper",
                                    "waits_for_an_announced_block",
                                    "waits_for_an_unannounced_block",
                                    "waits_for_a_locked_block",
                                    "waits_for_a_computation",
                                    "waits_for_a_thread",
                                    "waits_for_a_thread_that_sleeps_in_the_library",
                                    "waits_on_its_thread_for_a_thread",
                                    "goroutines_wait_for_a_foreign_main",
                                    "a_foreign_main_waits_with_a_timeout",
                                    "a_foreign_main_waits_for_a_sleeper",
                                    "goroutines_wait_after_the_run",
                                    "ends_after_a_failed_dial",
                                    "sleeps_for_ever",
                                    "waits_for_a_timer_of_the_longest"};
  if (!sley_test::under_sanitizer) names.emplace_back("waits_for_a_timer_of_the_c_library");
  const auto children = sley_test::run_children(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(children[i].status, 7) << names[i] << ": " << children[i];
    EXPECT_EQ(children[i].err, "") << names[i] << ": " << children[i];
  }
}
