// run with run_options::on_this_thread: the main goroutine is on the calling thread and stays
// there, and others run elsewhere.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/owned_threads.hpp"
#include "support/threads.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include <unistd.h>

using sley::chan;
using sley::run;
using sley_test::on_this_thread;
using sley_test::rounds;
using sley_test::spin_until;
using sley_test::strangers;
using sley_test::wait_a_little;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

TEST(run_here, the_main_goroutine_is_on_the_calling_thread_and_stays_there) {
  ASSERT_EQ(gettid(), getpid()) << "tests run on the main thread";
  run(on_this_thread, [] {
    const sley_test::leak_check check;
    const strangers others;
    EXPECT_EQ(gettid(), getpid());
    EXPECT_EQ(this_goroutine::id(), 1u);
    for (int i = 0; i < rounds(20); ++i) wait_a_little();
    const int before = others.looks();
    EXPECT_TRUE(spin_until([&] { return others.looks() > before + 50; }));
    sley::blocking([] { usleep(1000); });
    EXPECT_EQ(gettid(), getpid());
    EXPECT_EQ(this_goroutine::id(), 1u);
  });
  EXPECT_EQ(this_goroutine::id(), 0u) << "a mere thread again";
}

TEST(run_here, returns_and_throws_as_main_does) {
  EXPECT_EQ(run(on_this_thread, [] { return 7; }), 7);
  EXPECT_EQ(run(on_this_thread, [] {}), 0);
  EXPECT_THROW(run(on_this_thread, [] { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_THROW(run(on_this_thread,
                   []() -> int {
                     this_goroutine::sleep_for(1ms);
                     throw 42;
                   }),
               int);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(run(on_this_thread, [] { return 1; }), 1);
}

TEST(run_here, throws_logic_error_in_a_goroutine) {
  const auto nested = [] {
    EXPECT_THROW(run([] { ADD_FAILURE(); }), std::logic_error);
    EXPECT_THROW(run(on_this_thread, [] { ADD_FAILURE(); }), std::logic_error);
  };
  const auto in_two_goroutines = [&] {
    nested();
    sley::wait_group group;
    group.go(nested);
    group.wait();
  };
  run(on_this_thread, in_two_goroutines);
  run(in_two_goroutines);
}

TEST(run_here, takes_turns_with_run_elsewhere) {
  const chan<int> c(1);
  for (int i = 0; i < rounds(100); ++i) {
    const sley::run_options options{.on_this_thread = i % 3 != 0};
    const int status = run(options, [=] {
      EXPECT_EQ(gettid() == getpid(), options.on_this_thread);
      EXPECT_EQ(this_goroutine::id(), 1u);
      sley::go([=] { c.send(i); });
      return *c.receive();
    });
    ASSERT_EQ(status, i);
    c.send(i);  // as a foreign thread
    ASSERT_EQ(c.receive(), i);
  }
}

TEST(run_here, works_on_any_thread) {
  for (int i = 0; i < 5; ++i) {
    std::thread([] {
      const pid_t tid = gettid();
      EXPECT_EQ(run(on_this_thread,
                    [tid] {
                      const strangers others(2);
                      EXPECT_EQ(this_goroutine::id(), 1u);
                      wait_a_little();
                      EXPECT_EQ(gettid(), tid);
                      return 4;
                    }),
                4);
      EXPECT_EQ(gettid(), tid);
    }).join();
    EXPECT_EQ(run([] { return 5; }), 5);
  }
}

// Whatever the number of processors: at one, too.
TEST(run_here, others_run_while_main_computes_waits_and_blocks) {
  run(on_this_thread, [] {
    const strangers others;
    // Once is enough, and may be too few on a machine that has other things to do.
    const auto others_run_during = [&](auto pass_time) {
      return spin_until([&] {
        const int before = others.looks();
        pass_time();
        return others.looks() > before;
      });
    };
    EXPECT_TRUE(spin_until([&] { return others.looks() > 0; })) << "computing";
    EXPECT_TRUE(others_run_during([] { this_goroutine::sleep_for(5ms); })) << "a sleep";
    EXPECT_TRUE(others_run_during([] { sley::blocking([] { usleep(30'000); }); }))
        << "an announced block";
    EXPECT_TRUE(others_run_during([] { usleep(50'000); })) << "an unannounced block";
  });
}

namespace {
thread_local int of_this_thread = 0;
[[gnu::noinline]] int& the_threads_own() { return of_this_thread; }
}  // namespace

TEST(run_here, thread_locals_belong_to_the_calling_thread) {
  the_threads_own() = 1;
  run(on_this_thread, [] {
    EXPECT_EQ(the_threads_own(), 1);
    wait_a_little();
    the_threads_own() += 1;
    wait_a_little();
  });
  EXPECT_EQ(the_threads_own(), 2);
}

TEST(run_here, main_stays_locked_after_any_locks_and_unlocks) {
  run(on_this_thread, [] {
    const strangers others;
    {
      const sley::os_thread_lock lock;
      wait_a_little();
    }
    wait_a_little();
    for (int i = 0; i < 3; ++i) this_goroutine::unlock_os_thread();
    wait_a_little();
    EXPECT_EQ(gettid(), getpid());
  });
}

TEST(run_here, leaves_other_goroutines_where_they_are_until_the_next_one) {
  const chan<void> parked;
  const chan<int> answer;
  run(on_this_thread, [=] {
    sley::go([=] {
      parked.receive();
      answer.send(3);
    });
    sley_test::let_others_run();
  });
  EXPECT_EQ(run(on_this_thread,
                [=] {
                  parked.send();
                  return *answer.receive();
                }),
            3);
}

// D2, TestLockOSThreadExit (main): the main thread cannot end before the process does, so it waits.
CHILD_MAIN(main_exits_on_its_thread) {
  return run(on_this_thread, [] {
    sley::go([] {
      bool on_main_thread = false;
      for (int i = 0; i < 300; ++i) {
        on_main_thread = on_main_thread || gettid() == getpid();
        this_goroutine::sleep_for(100us);
      }
      std::_Exit(on_main_thread || !sley_test::thread_exists(getpid()) ? 3 : 7);
    });
    this_goroutine::exit();
  });
}

TEST(run_here, main_may_exit_and_the_others_go_on_elsewhere) {
  const auto child = sley_test::run_child("main_exits_on_its_thread");
  EXPECT_EQ(child.status, 7) << child;
}
