// Calls that block their thread and are not announced, as in other people's code. Nearly all
// tests have one processor: they end only because it is taken away from the thread that sleeps in
// the kernel, and another goroutine runs meanwhile.
#include "support/blocking_calls.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using sley::chan;
using sley::runtime::read_stats;
using sley_test::byte_pipe;
using sley_test::compute_for;
using sley_test::eventually;
using sley_test::get_errno;
using sley_test::processors;
using sley_test::random_source;
using sley_test::rounds;
using sley_test::sleep_in_the_kernel;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

GO_TEST(unannounced, a_reader_asleep_in_the_kernel_gives_way_to_the_writer) {
  const processors one(1);
  const auto before = read_stats().retakes;
  const byte_pipe pipe;
  for (int i = 0; i < rounds(30); ++i) {
    std::atomic<bool> entered{false};
    sley::wait_group group;
    group.go([&] {
      entered = true;
      EXPECT_EQ(pipe.read(), 'x');
    });
    EXPECT_TRUE(eventually([&] { return entered.load(); }));
    pipe.write('x');
    group.wait();
  }
  EXPECT_GT(read_stats().retakes, before);
}

GO_TEST(unannounced, timers_go_on_while_another_sleeps_in_the_kernel) {
  const processors one(1);
  const byte_pipe pipe;
  sley::wait_group group;
  group.go([&] { EXPECT_EQ(pipe.read(), 'x'); });
  for (int ticks = 0; ticks < 20; ++ticks) this_goroutine::sleep_for(1ms);
  pipe.write('x');
  group.wait();
}

GO_TEST(unannounced, sleeps_overlap) {
  const processors one(1);
  sley_test::expect_sleeps_overlap(sley_test::under_sanitizer ? 20 : 100, 50ms,
                                   [](nanoseconds d) { std::this_thread::sleep_for(d); });
}

// The owner sleeps with the lock in hand, and another one gets the processor and wants it.
GO_TEST(unannounced, a_goroutine_that_waits_for_a_std_mutex_lets_the_owner_run) {
  const processors one(1);
  constexpr int goroutines = 4;
  const int laps = rounds(20);
  std::mutex mutex;
  int counter = 0;
  sley::wait_group group;
  for (int g = 0; g < goroutines; ++g) {
    group.go([&, g] {
      for (int i = 0; i < laps; ++i) {
        {
          const std::lock_guard guard(mutex);
          const int before = counter;
          sleep_in_the_kernel(500us);
          counter = before + 1;
        }
        if (g % 2 == 0) this_goroutine::yield();
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, goroutines * laps);
}

GO_TEST(unannounced, goroutines_wake_each_other_by_a_std_condition_variable) {
  const processors one(1);
  const int laps = rounds(50);
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  sley::wait_group group;
  for (int g = 0; g < 2; ++g) {
    group.go([&, g] {
      for (int i = 0; i < laps; ++i) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return turn % 2 == g; });
        ++turn;
        changed.notify_one();
      }
    });
  }
  group.wait();
  EXPECT_EQ(turn, 2 * laps);
}

// The thread ends only after goroutines have run.
GO_TEST(unannounced, a_goroutine_may_join_a_thread) {
  const processors one(1);
  for (int i = 0; i < rounds(20); ++i) {
    const chan<int> there;
    const chan<int> back;
    sley::go([=] { back.send(*there.receive() + 1); });
    std::thread thread([=] {
      there.send(i);
      EXPECT_EQ(back.receive(), i + 1);
    });
    thread.join();
  }
}

namespace {

// The error, or minus the number of addresses.
int look_up_localhost() {
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo("localhost", "80", nullptr, &list); error != 0) return error;
  int count = 0;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) ++count;
  ::freeaddrinfo(list);
  return -count;
}

}  // namespace

GO_TEST(unannounced, many_lookups_of_names_at_once_agree_with_a_single_one) {
  const int expected = look_up_localhost();
  sley::wait_group group;
  for (int i = 0; i < rounds(100); ++i) {
    group.go([expected] { EXPECT_EQ(look_up_localhost(), expected); });
  }
  group.wait();
}

GO_TEST(unannounced, values_arrive_in_the_order_of_each_sender) {
  constexpr int senders = 8;
  const int values = rounds(50);
  const chan<std::pair<int, int>> results(3);
  sley::wait_group group;
  for (int s = 0; s < senders; ++s) {
    group.go([=] {
      random_source random(static_cast<std::uint64_t>(s));
      for (int i = 0; i < values; ++i) {
        ::usleep(static_cast<useconds_t>(random.below(1500)));
        results.send({s, i});
      }
    });
  }
  sley::go([&] {
    group.wait();
    results.close();
  });
  std::vector<int> next(senders, 0);
  for (const auto& [sender, number] : results) {
    EXPECT_EQ(number, next[static_cast<std::size_t>(sender)]++);
  }
  for (const int count : next) EXPECT_EQ(count, values);
}

namespace {

// A socket that receives nothing. SA_RESTART restarts no call on a socket with a time limit.
struct silent_socket : sley_test::two_ends {
  silent_socket() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
    const timeval limit = {.tv_sec = 0, .tv_usec = 2000};
    EXPECT_EQ(::setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  }
  bool receive_times_out() const {
    char byte;
    return ::recv(fds[0], &byte, 1, 0) == -1 && get_errno() == EAGAIN;
  }
  bool poll_times_out() const {
    pollfd fd = {fds[0], POLLIN, 0};
    return ::poll(&fd, 1, 1) == 0;
  }
};

}  // namespace

namespace {

struct call_count {
  long made = 0, interrupted = 0;
};

// The sleepers are in calls that a signal would end early, and yield between them; others compute
// in pieces too short to be preempted.
call_count sleep_while_others_compute(int procs, int sleepers_of_each_kind) {
  const processors guard(procs);
  const auto before = read_stats().retakes;
  const silent_socket socket;
  std::atomic<bool> stop{false};
  std::atomic<long> made{0}, interrupted{0};
  sley::wait_group group;
  const auto repeat = [&](auto call) {
    group.go([&, call] {
      for (; !stop; this_goroutine::yield()) {
        ++made;
        if (!call()) ++interrupted;
      }
    });
  };
  for (int i = 0; i < 3; ++i) {
    group.go([&] {
      for (; !stop; this_goroutine::yield()) compute_for(200us);
    });
  }
  for (int i = 0; i < sleepers_of_each_kind; ++i) {
    repeat([] { return sleep_in_the_kernel(300us); });
    repeat([&] { return socket.poll_times_out(); });
    repeat([&] { return socket.receive_times_out(); });
  }
  this_goroutine::sleep_for(400ms);
  EXPECT_TRUE(eventually([&] { return read_stats().retakes > before; }));
  stop = true;
  group.wait();
  return {made, interrupted};
}

}  // namespace

CHILD_MAIN(has_its_processors_taken_back) {
  return sley::run([] {
    for (const auto& [procs, sleepers] : {std::pair(1, 3), {2, 3}, {1, 40}}) {
      EXPECT_EQ(sleep_while_others_compute(procs, sleepers).interrupted, 0)
          << procs << " processors, " << sleepers << " of each kind";
    }
    return sley_test::verdict();
  });
}

TEST(unannounced, taking_a_processor_back_interrupts_no_call) {
  const auto child =
      sley_test::run_child("has_its_processors_taken_back", {{"SLEYDEBUG", "asyncpreemptoff=1"}});
  EXPECT_EQ(child.status, 7) << child;
}

// The signal at the end of a slice may find its thread in the next call: where the runtime got no
// CPU between its look and the signal.
GO_TEST(unannounced, ends_of_slices_interrupt_hardly_a_call) {
  const call_count calls = sleep_while_others_compute(1, 3);
  EXPECT_LE(calls.interrupted, calls.made / 100);
}

namespace {

thread_local int local_value = 0;

// What belongs to the thread, and must be the same until the goroutine next calls the library.
class thread_state {
 public:
  explicit thread_state(int value) : value_(value), thread_(::gettid()), handle_(::pthread_self()) {
    local_value = value;
    sley_test::set_errno(value);
  }
  void check() const {
    EXPECT_EQ(get_errno(), value_);
    EXPECT_EQ(local_value, value_);
    EXPECT_EQ(::gettid(), thread_);
    EXPECT_TRUE(::pthread_equal(::pthread_self(), handle_));
  }

 private:
  int value_;
  pid_t thread_;
  pthread_t handle_;
};

}  // namespace

namespace {

// In ten goroutines: what belongs to the thread is the same after each of some such sleeps.
void expect_state_survives_sleeps(nanoseconds each) {
  sley::wait_group group;
  for (int g = 0; g < 10; ++g) {
    group.go([g, each] {
      for (int round = 0; round < 5; ++round) {
        const thread_state mine(1000 + g);
        for (int i = 0; i < 5; ++i) {
          sleep_in_the_kernel(each);
          mine.check();
        }
        this_goroutine::yield();
      }
    });
  }
  group.wait();
}

}  // namespace

// Short sleeps may be over before the runtime looks twice, where it gets little of the CPU.
GO_TEST(unannounced, errno_and_thread_locals_are_the_same_when_a_call_returns) {
  const processors one(1);
  const auto before = read_stats().retakes;
  const auto was_tested = [before] { return read_stats().retakes > before; };
  for (auto nap = 300us; nap < 1s && !was_tested(); nap *= 2) expect_state_survives_sleeps(nap);
  EXPECT_TRUE(was_tested());
}
