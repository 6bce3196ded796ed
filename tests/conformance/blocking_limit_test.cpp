// The limit of announced blocking calls, set_blocking_limit: how many run at a time, in which order
// the others begin, and which calls count. Calls that must last are reads of an empty pipe.
#include "support/blocking_calls.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"
#include "support/threads.hpp"

#include <sley/os.hpp>

#include <atomic>
#include <chrono>
#include <climits>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using sley::blocking;
using sley::chan;
using sley::runtime::set_blocking_limit;
using sley_test::byte_pipe;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::go_until_parked_or_ended;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::rounds;
using sley_test::sleep_in_the_kernel;
using namespace std::chrono_literals;

namespace {

// The limit while it lives.
class limit {
 public:
  explicit limit(int n) : before_(set_blocking_limit(n)) {}
  ~limit() { set_blocking_limit(before_); }
  limit(const limit&) = delete;
  limit& operator=(const limit&) = delete;

 private:
  int before_;
};

// How many are inside at the same time.
class meter {
 public:
  void enter() {
    const int now = ++inside_;
    for (int seen = most_; seen < now && !most_.compare_exchange_weak(seen, now);) {
    }
  }
  void leave() { --inside_; }
  int inside() const { return inside_; }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

// Goroutines, each in a call that lasts until it is released, or in line for one.
class calls {
 public:
  ~calls() { group_.wait(); }

  // The calls begin at once.
  void begin(int count) {
    for (int i = 0; i < count; ++i) {
      const int wanted = begun_ + 1;
      group_.go([this] { call(0); });
      EXPECT_TRUE(eventually([&] { return begun_ == wanted; })) << "a call did not begin";
    }
  }
  // The calls wait in line, under this number.
  void queue(int number) {
    group_.add(1);
    go_until_parked([this, number] {
      call(number);
      group_.done();
    });
  }
  void release(int count = 1) {
    for (int i = 0; i < count; ++i) pipe_.write('x');
  }
  bool has_begun(int count) {
    return eventually([&] { return begun_ == count; });
  }
  int begun() const { return begun_; }
  std::vector<int> order() {
    group_.wait();
    return order_;
  }

 private:
  void call(int number) {
    blocking([&] {
      if (number != 0) order_.push_back(number);  // with a limit of 1 one at a time
      ++begun_;
      pipe_.read();
    });
  }

  byte_pipe pipe_;
  std::atomic<int> begun_{0};
  std::vector<int> order_;
  sley::wait_group group_;
};

}  // namespace

GO_TEST(blocking_limit, there_is_none_at_the_start) {
  EXPECT_EQ(set_blocking_limit(5), INT_MAX);
  EXPECT_EQ(set_blocking_limit(7), 5);
  EXPECT_EQ(set_blocking_limit(INT_MAX), 7);
  EXPECT_THROW(set_blocking_limit(0), std::invalid_argument);
  EXPECT_THROW(set_blocking_limit(INT_MIN), std::invalid_argument);
  EXPECT_EQ(set_blocking_limit(INT_MAX), INT_MAX);
}

GO_TEST(blocking_limit, no_more_calls_run_at_a_time) {
  for (const int n : {1, 3, 8}) {
    const limit set(n);
    meter m;
    sley::wait_group group;
    for (int i = 0; i < 40; ++i) {
      group.go([&] {
        for (int round = 0; round < rounds(20); ++round) {
          blocking([&] {
            m.enter();
            sleep_in_the_kernel(20us);
            m.leave();
          });
        }
      });
    }
    group.wait();
    EXPECT_LE(m.most(), n);
  }
}

GO_TEST(blocking_limit, waiting_calls_begin_in_order) {
  const limit one(1);
  calls all;
  all.begin(1);
  for (int i = 1; i <= 5; ++i) all.queue(i);
  EXPECT_EQ(all.begun(), 1);
  all.release(6);
  EXPECT_EQ(all.order(), (std::vector<int>{1, 2, 3, 4, 5}));
}

GO_TEST(blocking_limit, a_raised_limit_lets_waiting_calls_begin) {
  const limit two(2);
  calls all;
  all.begin(2);
  for (int i = 0; i < 4; ++i) all.queue(0);
  EXPECT_EQ(set_blocking_limit(3), 2);
  EXPECT_TRUE(all.has_begun(3));
  let_others_run();
  EXPECT_EQ(all.begun(), 3);
  EXPECT_EQ(set_blocking_limit(INT_MAX), 3);
  EXPECT_TRUE(all.has_begun(6));
  all.begin(1);
  all.release(7);
}

GO_TEST(blocking_limit, a_lowered_limit_counts_the_calls_under_way) {
  const limit three(3);
  calls all;
  all.begin(3);
  set_blocking_limit(1);
  all.queue(0);
  all.release(2);
  let_others_run();
  EXPECT_EQ(all.begun(), 3) << "one is under way still";
  all.release(1);
  EXPECT_TRUE(all.has_begun(4));
  all.queue(0);
  all.release(2);
}

GO_TEST(blocking_limit, a_goroutine_that_is_locked_to_its_thread_waits) {
  const limit one(1);
  calls all;
  all.begin(1);
  const chan<void> done(1);
  go_until_parked([&] {
    const sley::os_thread_lock lock;
    blocking([] {});
    done.send();
  });
  EXPECT_NE(done.try_receive(), sley::chan_status::ok);
  all.release();
  done.receive();
}

// ---- what counts ----

GO_TEST(blocking_limit, a_call_inside_of_a_call_needs_no_place) {
  const limit one(1);
  const long id = blocking([] { return blocking([] { return sley::syscall(SYS_getpid); }); });
  EXPECT_EQ(id, ::getpid());
  const chan<void> c(1);
  blocking([&] {
    c.send();  // ends the announcement
    blocking([] { sley::syscall(SYS_getpid); });
    c.receive();
  });
  blocking([] {});
}

// It still has its thread.
GO_TEST(blocking_limit, a_call_that_uses_the_library_counts_to_its_end) {
  const limit one(1);
  const chan<void> inside, release;
  sley::wait_group group;
  group.go([&] {
    blocking([&] {
      inside.send();
      release.receive();
    });
  });
  inside.receive();
  calls all;
  all.queue(1);
  EXPECT_EQ(all.begun(), 0);
  release.send();
  EXPECT_TRUE(all.has_begun(1));
  all.release();
  group.wait();
}

GO_TEST(blocking_limit, system_calls_count) {
  const limit one(1);
  calls all;
  all.begin(1);
  const chan<long> ids(1);
  go_until_parked([&] { ids.send(sley::syscall(SYS_getpid)); });
  all.release();
  EXPECT_EQ(ids.receive(), ::getpid());
  byte_pipe pipe;
  sley::wait_group group;
  group.go([&] {
    char byte = 0;
    EXPECT_EQ(sley::syscall(SYS_read, pipe.fds[0], &byte, 1), 1);
  });
  sley::wait_group callers;
  const auto another_call_waits = [&] {
    callers.add(1);
    return go_until_parked_or_ended([&] {
      blocking([] {});
      callers.done();
    });
  };
  EXPECT_TRUE(eventually(another_call_waits)) << "the read does not count";
  pipe.write('x');
  callers.wait();
  group.wait();
}

GO_TEST(blocking_limit, calls_of_the_library_for_files_count) {
  const auto file = sley::os::file::open("/proc/self/comm", 0);
  const limit one(1);
  calls all;
  all.begin(1);
  const chan<std::size_t> sizes(1);
  go_until_parked([&] {
    std::array<std::byte, 16> room;
    sizes.send(file.read_some(room));
  });
  all.release();
  EXPECT_GT(sizes.receive(), 0U);
}

GO_TEST(blocking_limit, a_call_that_is_left_by_an_exception_or_exit_gives_its_place_back) {
  const limit one(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(blocking([] { throw std::runtime_error("failed"); }), std::runtime_error);
    sley::wait_group group;
    group.go([] { blocking([] { sley::this_goroutine::exit(); }); });
    group.wait();
  }
  blocking([] {});
}

GO_TEST(blocking_limit, foreign_threads_do_not_count) {
  const limit one(1);
  calls all;
  all.begin(1);
  sley_test::thread_group threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i) threads.go([&] { blocking([&] { ++done; }); });
  threads.wait();
  EXPECT_EQ(done, 3);
  all.release();
}

GO_TEST(blocking_limit, a_wait_leaves_errno_alone) {
  const limit one(1);
  calls all;
  all.begin(1);
  const chan<int> seen(2);
  go_until_parked([&] {
    sley_test::set_errno(EDOM);
    blocking([&] { seen.send(sley_test::get_errno()); });
    sley_test::set_errno(ERANGE);
    sley::syscall(SYS_getpid);
    seen.send(sley_test::get_errno());
  });
  all.release();
  EXPECT_EQ(seen.receive(), EDOM);
  EXPECT_EQ(seen.receive(), ERANGE);
}

// ---- many ----

CHILD_MAIN(has_more_calls_than_threads) {
  return sley::run([] {
    sley::runtime::set_max_threads(40);
    set_blocking_limit(10);
    sley::wait_group group;
    std::atomic<int> done{0};
    for (int i = 0; i < 1000; ++i) {
      group.go([&] {
        blocking([] { sleep_in_the_kernel(1ms); });
        ++done;
      });
    }
    group.wait();
    return done == 1000 ? 0 : 1;
  });
}

TEST(blocking_limit, more_calls_than_threads_may_be_do_not_end_the_process) {
  const auto child = sley_test::run_child("has_more_calls_than_threads");
  EXPECT_EQ(child.status, 0) << child;
}

GO_TEST(blocking_limit, limits_that_change_lose_no_place) {
  {
    const limit set(2);
    std::atomic<bool> stops{false};
    meter m;
    sley::wait_group group;
    for (int i = 0; i < 16; ++i) {
      group.go([&] {
        while (!stops) {
          blocking([&] {
            m.enter();
            m.leave();
          });
          sley::this_goroutine::yield();
        }
      });
    }
    random_source random;
    for (int round = 0; round < rounds(1000); ++round) {
      set_blocking_limit(random.one_in(5) ? INT_MAX : 1 + random.index(8));
      sley::this_goroutine::yield();
    }
    set_blocking_limit(2);
    stops = true;
    group.wait();
    EXPECT_EQ(m.inside(), 0);
    calls all;
    all.begin(2);
    all.queue(0);
    all.release(3);
  }
  EXPECT_EQ(set_blocking_limit(INT_MAX), INT_MAX);
}
