// One preemption ends a time slice, and takes at most one signal, whatever waits. To preempt a
// goroutine again and again, and for nothing, would cost it its CPU. Here a due timer waits: it
// belongs to one processor, and goroutines compute on all of them.
#include "support/harness.hpp"
#include "support/scripted_calls.hpp"

#include <sley/sley.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

#include <sys/syscall.h>

using sley::runtime::read_stats;
using sley_test::scripted_calls;
using sley_test::system_call;
using namespace std::chrono_literals;

namespace {

std::atomic<int> signals{0};

// Goroutines on all processors do it again and again, beside one that sleeps. Returns in how many
// slices at most.
template <class Work>
std::int64_t compute_beside_a_sleeper(Work work) {
  const int procs = sley::runtime::max_procs();
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> is_over{false};
  sley::wait_group hogs;
  for (int i = 0; i < procs; ++i) {
    hogs.go([&] {
      while (!is_over) work();
    });
  }
  for (int i = 0; i < 50; ++i) sley::this_goroutine::sleep_for(1ms);
  is_over = true;
  hogs.wait();
  return procs * ((std::chrono::steady_clock::now() - begin) / 10ms + 1);
}

}  // namespace

GO_TEST(preemption, takes_one_signal_a_slice_from_goroutines_that_only_compute) {
  const scripted_calls script({{SYS_tgkill, 2, ~0U, SIGURG}}, [](const system_call& call) -> long {
    ++signals;
    return call.pass_on();
  });
  if (!script.works()) GTEST_SKIP() << "seccomp is refused";
  signals = 0;
  const std::int64_t slices = compute_beside_a_sleeper([] {});
  EXPECT_LE(signals, 3 * slices);
}

GO_TEST(preemption, happens_once_a_slice_in_goroutines_that_call_the_library) {
  const std::uint64_t before = read_stats().preemptions;
  const sley::chan<int> c(1);
  const std::int64_t slices = compute_beside_a_sleeper([c] {
    static_cast<void>(c.try_send(1));
    int value = 0;
    static_cast<void>(c.try_receive(value));
  });
  EXPECT_LE(read_stats().preemptions - before, static_cast<std::uint64_t>(3 * slices));
}
