// Kernels and sandboxes that refuse what sley would rather use: everything works without it, or
// says what it lacks. A seccomp filter plays the kernel; it is in place before the child's first
// instruction, as the library decides at its start.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <thread>

using namespace std::chrono_literals;

namespace {

constexpr unsigned madv_guard_install = 102;

// Lets everything through but one system call, of which it may look at the third argument's low
// half.
bool refuse(unsigned number, const unsigned* third_argument) {
  const unsigned argument = third_argument == nullptr ? 0 : *third_argument;
  const unsigned char if_other = third_argument == nullptr ? 2 : 3;
  sock_filter with_argument[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, if_other),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_filter whole_call[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {};
  if (third_argument != nullptr) {
    program = {sizeof(with_argument) / sizeof(with_argument[0]), with_argument};
  } else {
    program = {sizeof(whole_call) / sizeof(whole_call[0]), whole_call};
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Channels, locks under contention, sleeps and foreign threads, with checked sums.
int exercise() {
  std::atomic<long> sum{0};
  const int status = sley::run([&sum] {
    sley::chan<long> values(4);
    sley::wait_group senders;
    sley::wait_group receivers;
    for (int i = 0; i < 8; ++i) {
      senders.go([values] {
        for (long v = 0; v < 20'000; ++v) values.send(v);
      });
      receivers.go([values, &sum] {
        for (const long v : values) sum += v;
      });
    }
    senders.add(1);  // and join only what has ended: a join blocks the thread, and with it others
    std::thread foreign([values, &senders] {
      for (long v = 0; v < 20'000; ++v) values.send(v);
      senders.done();
    });
    sley::this_goroutine::sleep_for(1ms);
    senders.wait();
    foreign.join();
    values.close();
    receivers.wait();
  });
  return status == 0 && sum == 9 * (19'999L * 20'000L / 2) ? 7 : 3;
}

}  // namespace

CHILD_MAIN(works) { return exercise(); }
CHILD_MAIN(refuses_membarrier) {
  if (refuse(SYS_membarrier, nullptr)) sley_test::become_child("works");
  return 99;
}

TEST(fallback, without_membarrier_both_sides_pay_for_the_barrier) {
  const auto child = sley_test::run_child("refuses_membarrier");
  EXPECT_EQ(child.status, 7) << child;
}

// More goroutines than guards can be had for: those too many wait for a stack that comes free.
CHILD_MAIN(needs_many_stacks) {
  constexpr int many = 40'000;
  constexpr int surely_room_for = 20'000;
  return sley::run([] {
    sley::wait_group group;
    const sley::chan<void> gate;
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    for (int i = 0; i < many; ++i) {
      group.go([&, gate] {
        ++begun;
        gate.receive();
        ++ended;
      });
    }
    // Once nobody is queued any more, those that have not begun wait for a stack.
    const auto all_wait = [&] {
      const auto stats = sley::runtime::read_stats();
      return begun >= surely_room_for && stats.global_queue + stats.local_queues == 0;
    };
    while (!all_wait()) sley::this_goroutine::yield();
    gate.close();
    group.wait();
    return ended == many ? 7 : 3;
  });
}
CHILD_MAIN(refuses_guards) {
  if (refuse(SYS_madvise, &madv_guard_install)) sley_test::become_child("needs_many_stacks");
  return 99;
}

TEST(fallback, without_cheap_guards_goroutines_wait_for_stacks_before_mappings_run_out) {
  if (sley_test::under_sanitizer) {
    GTEST_SKIP() << "sanitizers use up mappings of their own";
  }
  int mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  if (mappings > 80'000) GTEST_SKIP() << "room for " << mappings << " mappings";
  const auto child = sley_test::run_child("refuses_guards");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_NE(child.err.find("no memory for another goroutine's stack"), std::string::npos) << child;
  EXPECT_NE(child.err.find("vm.max_map_count"), std::string::npos) << child;
}
