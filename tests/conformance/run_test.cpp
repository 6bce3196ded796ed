// run, the start of the runtime by itself, and the library in threads that the runtime did not
// make. Tests that need the first moment of a process run in a child.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using sley::chan;
using sley::run;
using sley_test::eventually;
using sley_test::rounds;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

TEST(run, returns_the_value_of_main) {
  EXPECT_EQ(run([] { return 7; }), 7);
  EXPECT_EQ(run([] {}), 0);
  EXPECT_EQ(run([] { return static_cast<short>(-3); }), -3);
  int calls = 0;
  const std::function<void()> function = [&calls] { ++calls; };
  EXPECT_EQ(run(function), 0);
  EXPECT_EQ(run([owned = std::make_unique<int>(3)] { return *owned; }), 3);
  EXPECT_EQ(calls, 1);
}

TEST(run, throws_an_exception_that_leaves_main) {
  EXPECT_THROW(run([] { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_THROW(run([]() -> int { throw 42; }), int);
  struct mine {
    std::string text;
  };
  try {
    run([] { throw mine{"kept"}; });
    ADD_FAILURE() << "nothing thrown";
  } catch (const mine& caught) {
    EXPECT_EQ(caught.text, "kept");
  }
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(run([] { return 1; }), 1);
}

TEST(run, may_be_called_again_and_again) {
  for (int i = 0; i < rounds(200); ++i) {
    const int status = run([i] {
      chan<int> c;
      sley::go([c, i] { c.send(i); });
      return *c.receive();
    });
    ASSERT_EQ(status, i);
  }
}

TEST(run, throws_logic_error_in_a_goroutine) {
  run([] {
    EXPECT_THROW(run([] { ADD_FAILURE(); }), std::logic_error);
    sley::wait_group group;
    group.go([] { EXPECT_THROW(run([] { ADD_FAILURE(); }), std::logic_error); });
    group.wait();
  });
}

TEST(run, may_be_called_by_another_thread_than_last_time) {
  for (int i = 0; i < 5; ++i) {
    std::thread([] { EXPECT_EQ(run([] { return 4; }), 4); }).join();
    EXPECT_EQ(run([] { return 5; }), 5);
  }
}

// A goroutine that was left behind goes on in the next run.
TEST(run, leaves_other_goroutines_where_they_are_until_the_next_one) {
  std::atomic<int> laps{0};
  std::atomic<bool> stop{false};
  chan<void> parked;
  chan<int> answer;
  sley::wait_group looping;
  run([&] {
    looping.go([&] {
      while (!stop) {
        ++laps;
        this_goroutine::yield();
      }
    });
    sley::go([=] {
      parked.receive();
      answer.send(3);
    });
    EXPECT_TRUE(eventually([&] { return laps > 10; }));
  });
  // One that is just running goes on until it next enters the library.
  std::this_thread::sleep_for(20ms);
  const int after_run = laps;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(laps, after_run) << "something is scheduled although run has returned";
  run([&] {
    parked.send();
    EXPECT_EQ(answer.receive(), 3);
    EXPECT_TRUE(eventually([&] { return laps > after_run; }));
    stop = true;
    looping.wait();
    EXPECT_TRUE(eventually([] { return sley::runtime::num_goroutines() == 1; }));
  });
}

CHILD_MAIN(main_is_one) {
  if (this_goroutine::id() != 0) return 4;
  return run([] {
    chan<std::uint64_t> ids;
    sley::go([ids] { ids.send(this_goroutine::id()); });
    const auto other = *ids.receive();
    return this_goroutine::id() == 1 && other > 1 ? 7 : 3;
  });
}

// E7, TestMainGoroutineID
TEST(run, the_main_goroutine_is_number_one) {
  const auto child = sley_test::run_child("main_is_one");
  EXPECT_EQ(child.status, 7) << child;
}

// --- the runtime starts by itself ----------------------------------------------------------------

CHILD_MAIN(starts_by_go) {
  std::atomic<bool> ran{false};
  sley::go([&ran] { ran = true; });
  while (!ran) std::this_thread::yield();
  return 7;
}
CHILD_MAIN(starts_by_channel) {
  chan<int> c(1);
  c.send(7);
  return *c.receive();
}
CHILD_MAIN(starts_by_blocking_channel) {
  chan<int> c;
  std::thread sender([c] { c.send(7); });
  const int status = *c.receive();
  sender.join();
  return status;
}
CHILD_MAIN(starts_by_sleep) {
  const auto start = std::chrono::steady_clock::now();
  this_goroutine::sleep_for(5ms);
  return std::chrono::steady_clock::now() - start >= 5ms ? 7 : 3;
}
CHILD_MAIN(starts_by_lock) {
  sley::mutex m;
  m.lock();
  std::thread other([&m] {
    m.lock();
    m.unlock();
  });
  std::this_thread::sleep_for(5ms);
  m.unlock();
  other.join();
  return 7;
}
CHILD_MAIN(starts_by_select) {
  chan<int> c;
  return sley::select(sley::on_receive(c), sley::on_timeout(1ms)) == 1 ? 7 : 3;
}
CHILD_MAIN(starts_by_timer) { return sley::after(1ms).receive().has_value() ? 7 : 3; }
CHILD_MAIN(starts_by_questions) {
  return sley::runtime::num_goroutines() == 0 && sley::runtime::max_procs() >= 1 &&
                 sley::runtime::num_cpu() >= 1 && sley::runtime::read_stats().procs >= 1
             ? 7
             : 3;
}

TEST(foreign, the_first_use_of_any_kind_starts_the_runtime) {
  for (const char* name :
       {"starts_by_go", "starts_by_channel", "starts_by_blocking_channel", "starts_by_sleep",
        "starts_by_lock", "starts_by_select", "starts_by_timer", "starts_by_questions"}) {
    const auto child = sley_test::run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
  }
}

// --- foreign threads -----------------------------------------------------------------------------

FOREIGN_TEST(foreign, a_thread_and_a_goroutine_exchange_values) {
  chan<int> there;
  chan<int> back(3);
  sley::go([=] {
    for (const int value : there) back.send(value * 2);
    back.close();
  });
  for (int i = 0; i < rounds(5000); ++i) {
    there.send(i);
    ASSERT_EQ(back.receive(), i * 2);
  }
  there.close();
  EXPECT_EQ(back.receive(), std::nullopt);
}

FOREIGN_TEST(foreign, threads_among_themselves_use_every_form) {
  chan<int> c;
  chan<void> stop;
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> receivers;
  for (int t = 0; t < 3; ++t) {
    receivers.emplace_back([&, c, stop] {
      for (bool open = true; open;) {
        sley::select(sley::on_receive(c, [&](std::optional<int> v) { sum += v.value_or(0); }),
                     sley::on_receive(stop, [&](bool) { open = false; }), sley::on_timeout(10s));
      }
    });
  }
  std::vector<std::thread> senders;
  const int values = rounds(1000);
  for (int t = 0; t < 3; ++t) {
    senders.emplace_back([=] {
      for (int i = 1; i <= values; ++i) {
        if (i % 2 == 0) {
          c.send(i);
        } else {
          int value = i;
          while (c.try_send_for(value, 1ms) != sley::chan_status::ok) {
          }
        }
      }
    });
  }
  for (auto& thread : senders) thread.join();
  stop.close();
  for (auto& thread : receivers) thread.join();
  EXPECT_EQ(sum, std::int64_t{3} * values * (values + 1) / 2);
}

FOREIGN_TEST(foreign, a_thread_sleeps_and_times_out) {
  auto start = std::chrono::steady_clock::now();
  this_goroutine::sleep_for(3ms);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
  this_goroutine::sleep_until(start);
  this_goroutine::yield();
  start = std::chrono::steady_clock::now();
  chan<int> c;
  int out = 0;
  EXPECT_EQ(c.try_receive_for(out, 3ms), sley::chan_status::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
}

FOREIGN_TEST(foreign, a_thread_is_no_goroutine) {
  const std::size_t before = sley::runtime::num_goroutines();
  EXPECT_EQ(this_goroutine::id(), 0u);
  EXPECT_EQ(this_goroutine::name(), "");
  EXPECT_THROW(this_goroutine::set_name("thread"), std::logic_error);
  EXPECT_THROW(this_goroutine::exit(), std::logic_error);
  chan<int> c(1);
  c.send(1);
  EXPECT_EQ(this_goroutine::id(), 0u) << "after the thread has been inside";
  EXPECT_EQ(sley::runtime::num_goroutines(), before);
}

FOREIGN_TEST(foreign, threads_come_use_the_library_and_go) {
  chan<int> c;
  sley::go([c] {
    for (int i = 0; i < rounds(300); ++i) c.send(i);
  });
  for (int i = 0; i < rounds(300); ++i) {
    std::thread([c, i] { EXPECT_EQ(c.receive(), i); }).join();
  }
}

FOREIGN_TEST(foreign, threads_start_goroutines_in_parallel) {
  const int each = rounds(2000);
  std::atomic<int> ran{0};
  sley::wait_group group;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) group.go([&ran] { ++ran; });
    });
  }
  for (auto& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(ran, each * 4);
}

FOREIGN_TEST(foreign, exceptions_of_the_library_reach_the_thread) {
  chan<int> c;
  c.close();
  EXPECT_THROW(c.send(1), sley::channel_closed);
  EXPECT_THROW(c.close(), sley::channel_closed);
  EXPECT_THROW(sley::select(sley::on_send(c, 1)), sley::channel_closed);
  EXPECT_THROW(sley::go(std::function<void()>()), std::logic_error);
}

FOREIGN_TEST(foreign, a_close_throws_in_a_thread_blocked_in_a_send) {
  chan<int> c;
  std::atomic<bool> entered{false};
  std::thread sender([&, c] {
    entered = true;
    EXPECT_THROW(c.send(1), sley::channel_closed);
  });
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
  this_goroutine::sleep_for(2ms);  // likely parked now; right either way
  c.close();
  sender.join();
}

GO_TEST(foreign, a_goroutine_starts_a_thread_and_talks_to_it) {
  chan<int> there;
  chan<int> back;
  std::thread thread([=] {
    for (const int value : there) back.send(value + 1);
    back.close();
  });
  for (int i = 0; i < 100; ++i) {
    there.send(i);
    EXPECT_EQ(back.receive(), i + 1);
  }
  there.close();
  EXPECT_EQ(back.receive(), std::nullopt);
  thread.join();
}
