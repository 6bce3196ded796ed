// Goroutines that end while they are locked to their thread: it ends with them, and what they have
// done to it reaches no other.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/owned_threads.hpp"
#include "support/threads.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

using sley::chan;
using sley::os_thread_lock;
using sley::run;
using sley_test::end_locked;
using sley_test::eventually;
using sley_test::is_gone;
using sley_test::on_this_thread;
using sley_test::rounds;
using sley_test::run_child;
using sley_test::skipped;
using sley_test::strangers;
using sley_test::threads_of_process;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

// D3, TestLockOSThreadExit (alt): the main goroutine is locked to the main thread.
TEST(thread_lock, a_goroutine_that_ends_locked_takes_its_thread_with_it) {
  run(on_this_thread, [] {
    const strangers others;
    for (int i = 0; i < 10; ++i) {
      const pid_t tid = end_locked([] {});
      EXPECT_NE(tid, gettid());
      EXPECT_TRUE(is_gone(tid)) << "thread " << tid << " is still there";
    }
  });
}

GO_TEST(thread_lock, a_goroutine_that_ends_unlocked_leaves_its_thread) {
  const pid_t tid = sley::async([] {
                      const os_thread_lock lock;
                      return gettid();
                    }).get();
  sley_test::let_others_run();
  EXPECT_TRUE(sley_test::thread_exists(tid));
}

GO_TEST(thread_lock, leaving_by_exit_while_locked_runs_destructors_there_and_ends_the_thread) {
  struct witness {
    std::atomic<pid_t>& seen_on;
    ~witness() { seen_on = gettid(); }
  };
  std::atomic<pid_t> seen_on{0};
  const pid_t tid = end_locked([&] {
    const witness guard{seen_on};
    this_goroutine::sleep_for(1ms);
    this_goroutine::exit();
  });
  EXPECT_TRUE(is_gone(tid));
  EXPECT_EQ(seen_on, tid);
}

GO_TEST(thread_lock, an_exception_out_of_a_goroutine_that_ends_locked_reaches_its_future) {
  std::atomic<pid_t> tid{0};
  auto result = sley::async([&]() -> int {
    this_goroutine::lock_os_thread();
    tid = gettid();
    this_goroutine::yield();
    throw std::runtime_error("while locked");
  });
  EXPECT_THROW(result.get(), std::runtime_error);
  EXPECT_TRUE(is_gone(tid));
}

// D6, TestLockOSThreadVgetrandom
GO_TEST(thread_lock, a_thousand_locked_goroutines_use_getrandom_and_end) {
  constexpr std::size_t at_once = 100;
  const int before = threads_of_process();
  const chan<void> places(at_once);
  sley::wait_group group;
  std::atomic<int> filled{0};
  const int count = rounds(1000);
  for (int i = 0; i < count; ++i) {
    places.send();
    group.go([&] {
      this_goroutine::lock_os_thread();
      std::uint32_t bits = 0;
      if (getrandom(&bits, sizeof(bits), 0) == sizeof(bits)) ++filled;
      this_goroutine::yield();
      places.receive();
    });
  }
  group.wait();
  EXPECT_EQ(filled, count);
  EXPECT_TRUE(eventually([=] { return threads_of_process() <= before + 20; }))
      << threads_of_process() << " threads, " << before << " before";
}

GO_TEST(thread_lock, destructors_of_thread_locals_run_and_may_use_the_library) {
  const chan<int> buffered(1);
  const chan<int> unbuffered;
  const chan<int> from_goroutine;
  sley::mutex m;
  sley::wait_group group;
  group.add(1);
  m.lock();
  const pid_t tid = end_locked([&] {
    sley_test::at_thread_end.words = [&] {
      buffered.send(static_cast<int>(this_goroutine::id()));
      unbuffered.send(gettid());
      sley::go([=] { from_goroutine.send(5); });
      m.lock();
      m.unlock();
      this_goroutine::sleep_for(1ms);
      this_goroutine::yield();
      EXPECT_EQ(sley::select(sley::on_receive(unbuffered), sley::on_timeout(1ms)), 1u);
      group.done();
    };
  });
  EXPECT_EQ(buffered.receive(), 0) << "the goroutine is over: this is a mere thread";
  EXPECT_EQ(unbuffered.receive(), tid);
  EXPECT_EQ(from_goroutine.receive(), 5);
  m.unlock();
  group.wait();
  EXPECT_TRUE(is_gone(tid));
}

// D4, TestLockOSThreadAvoidsStatePropagation: neither while that thread lives nor after.
CHILD_MAIN(taints_a_thread) {
  if (chdir("/") != 0) return 3;
  return run(on_this_thread, [] {
    const chan<bool> clean;
    // All of them are locked at the same time, so that threads must be made for them.
    const auto look_around = [clean] {
      const chan<void> release;
      for (int i = 0; i < 10; ++i) {
        sley::go([=] {
          const os_thread_lock lock;
          char directory[4096];
          clean.send(getcwd(directory, sizeof(directory)) != nullptr &&
                     std::string_view(directory) == "/");
          release.receive();
        });
      }
      bool all_clean = true;
      for (int i = 0; i < 10; ++i) all_clean = *clean.receive() && all_clean;
      release.close();
      return all_clean;
    };
    auto tainted = sley::async([&]() -> int {
      this_goroutine::lock_os_thread();
      if (unshare(CLONE_FS) != 0) return errno == EPERM || errno == ENOSYS ? skipped : 4;
      if (chdir("/proc") != 0) return 5;
      return look_around() ? 7 : 6;
    });
    const int status = tainted.get();
    if (status != 7) return status;
    return look_around() ? 7 : 8;
  });
}

TEST(thread_lock, a_locked_goroutine_that_unshares_taints_no_other_thread) {
  const auto child = run_child("taints_a_thread");
  if (child.status == skipped) GTEST_SKIP() << "unshare(2) is refused";
  EXPECT_EQ(child.status, 7) << child;
}

// The same for state that needs no system call to be refused.
GO_TEST(thread_lock, the_signal_mask_of_a_locked_goroutine_does_not_reach_other_threads) {
  const auto blocks_usr2 = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGUSR2) == 1;
  };
  const auto look_around = [&] {
    const chan<void> release;
    const chan<bool> blocked;
    for (int i = 0; i < 10; ++i) {
      sley::go([=] {
        const os_thread_lock lock;
        blocked.send(blocks_usr2());
        release.receive();
      });
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(blocked.receive(), false);
    release.close();
  };
  const chan<void> done;
  const pid_t tid = end_locked([&, done] {
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
    this_goroutine::sleep_for(1ms);
    EXPECT_TRUE(blocks_usr2()) << "its own thread's, after a park";
    look_around();
    done.send();
  });
  done.receive();
  look_around();
  EXPECT_TRUE(is_gone(tid));
}

// D5, TestLockOSThreadTemplateThreadRace: the first two locks of a process, while its number of
// processors changes. (30 runs at each of four numbers of processors are over 100.)
CHILD_MAIN(two_lock_at_once) {
  return run([] {
    sley::runtime::set_max_procs(4);
    std::atomic<bool> done{false};
    sley::wait_group changer;
    changer.go([&done] {
      for (int n = 3; !done; n = 7 - n) sley::runtime::set_max_procs(n);
    });
    const auto start = std::chrono::steady_clock::now() + 10ms;
    sley::wait_group lockers;
    for (int i = 0; i < 2; ++i) {
      lockers.go([start] {
        while (std::chrono::steady_clock::now() < start) {
        }
        sley::go([] {});  // work for a thread that the lock makes necessary
        this_goroutine::lock_os_thread();
        this_goroutine::yield();
      });
    }
    lockers.wait();
    done = true;
    changer.wait();
    return 7;
  });
}

TEST(thread_lock, two_first_locks_at_once_while_the_world_stops_do_not_hang) {
  for (int i = 0; i < rounds(30); ++i) {
    const auto child = run_child("two_lock_at_once");
    ASSERT_EQ(child.status, 7) << "in try " << i << ": " << child;
  }
}
