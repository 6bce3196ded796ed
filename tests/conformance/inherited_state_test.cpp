// What threads and processes inherit from the thread that makes them is the program's own: the CPUs
// that it may use, its timer slack and its scheduling. Method: goroutines that look while others
// make the runtime place its threads and sleep until timers are due.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

struct inherited {
  cpu_set_t cpus = {};
  int timer_slack = ::prctl(PR_GET_TIMERSLACK);
  int policy = ::sched_getscheduler(0);
  int nice = ::getpriority(PRIO_PROCESS, 0);

  inherited() { ::sched_getaffinity(0, sizeof cpus, &cpus); }
  friend bool operator==(const inherited& a, const inherited& b) {
    return CPU_EQUAL(&a.cpus, &b.cpus) && a.timer_slack == b.timer_slack && a.policy == b.policy &&
           a.nice == b.nice;
  }
};

const inherited of_the_program;

// Looks on this thread and on one that it makes.
bool is_unchanged() {
  bool is_same_there = false;
  std::thread([&] { is_same_there = inherited() == of_the_program; }).join();
  return is_same_there && inherited() == of_the_program;
}

// Threads that wake each other now and then, and timers that are due soon.
class traffic {
 public:
  traffic() {
    for (int i = 0; i < 4; ++i) {
      group_.go([this] { exchange(); });
      group_.go([this] {
        while (!is_over_) sley::this_goroutine::sleep_for(100us);
      });
    }
  }
  ~traffic() {
    is_over_ = true;
    group_.wait();
  }
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;

 private:
  void exchange() const {
    auto [a, b] = sley::net::unix_stream::pair();
    sley::wait_group echo;
    echo.go([&peer = b] {
      std::byte byte;
      while (peer.read_some({&byte, 1}) == 1) {
        for (std::atomic<int> k{0}; k < 5'000; ++k) {
        }
        peer.write_all({&byte, 1});
      }
    });
    std::byte byte{};
    while (!is_over_) {
      a.write_all({&byte, 1});
      a.read_exactly({&byte, 1});
    }
    a.close();
    echo.wait();
  }

  std::atomic<bool> is_over_{false};
  sley::wait_group group_;
};

}  // namespace

GO_TEST(inherited_state, of_a_goroutines_thread_is_the_programs) {
  const traffic others;
  sley::wait_group group;
  std::atomic<int> changed{0};
  for (int i = 0; i < 4; ++i) {
    group.go([&] {
      const auto end = std::chrono::steady_clock::now() + 1s;
      while (std::chrono::steady_clock::now() < end) {
        for (int look = 0; look < 200; ++look) {
          if (!(inherited() == of_the_program)) ++changed;
        }
        if (!is_unchanged()) ++changed;
        sley::this_goroutine::sleep_for(50us);
      }
    });
  }
  group.wait();
  EXPECT_EQ(changed, 0);
}

GO_TEST(inherited_state, of_processes_is_the_programs) {
  const traffic others;
  const std::string slack = std::to_string(of_the_program.timer_slack) + "\n";
  const std::string cpus = std::to_string(CPU_COUNT(&of_the_program.cpus)) + "\n";
  for (int i = 0; i < rounds(30); ++i) {
    EXPECT_EQ(sley::os::run({.program = "cat", .arguments = {"/proc/self/timerslack_ns"}}).output,
              slack);
    EXPECT_EQ(sley::os::run({.program = "nproc"}).output, cpus);
  }
}

GO_TEST(inherited_state, that_a_goroutine_changes_on_its_thread_stays_as_it_is) {
  const traffic others;
  const sley::os_thread_lock lock;
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &of_the_program.cpus)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  ASSERT_EQ(::prctl(PR_SET_TIMERSLACK, 7'000UL), 0);
  const inherited changed;
  for (int i = 0; i < rounds(200); ++i) {
    sley::this_goroutine::sleep_for(1ms);
    ASSERT_TRUE(inherited() == changed);
  }
  ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(of_the_program.timer_slack));
  ::sched_setaffinity(0, sizeof of_the_program.cpus, &of_the_program.cpus);
}
