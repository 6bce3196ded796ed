// SIGQUIT ends the process, whatever it does, and shows every goroutine; unless the program handles
// it itself.
#include "runtime/state/goroutine.hpp"
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/text.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>

#include <unistd.h>

using sley::chan;
using sley::run;
using sley_test::child_result;
using sley_test::expect_frame;
using sley_test::find;
using sley_test::goroutines_in;
using sley_test::matches;
using sley_test::not_a_tail_call;
using sley_test::occurrences;
using sley_test::on_this_thread;
using sley_test::parks_here;
using sley_test::run_child;
using sley_test::starts_one_here;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

[[gnu::noinline]] void spins_here(const std::atomic<bool>& stop) {
  while (!stop) {
  }
  not_a_tail_call();
}

// In the kernel; a signal that is not the end interrupts it.
[[gnu::noinline]] void sleeps_here() {
  static std::atomic<bool> never{false};
  while (!never) ::sleep(60);
  not_a_tail_call();
}

[[gnu::noinline]] void blocks_here() {
  sley::blocking(sleeps_here);
  not_a_tail_call();
}

// Ends the process, from a thread of the program's own, when all that there is has begun.
void quit_soon(const std::atomic<int>& begun, int wanted) {
  std::thread([&begun, wanted] {
    while (begun < wanted) std::this_thread::yield();
    std::this_thread::sleep_for(50ms);  // and has got to where it stays
    ::kill(::getpid(), SIGQUIT);
  }).detach();
}

void expect_quit(const child_result& child) {
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(child.err.rfind("SIGQUIT: quit\n", 0), 0u) << child;
}

}  // namespace

CHILD_MAIN(does_everything) {
  return run([] {
    static std::atomic<int> begun{0};
    static std::atomic<bool> stop{false};
    const chan<int> never;
    starts_one_here({.name = "g-parked"}, never);
    sley::go({.name = "g-sleeping"}, [] {
      ++begun;
      this_goroutine::sleep_for(1h);
    });
    sley::go({.name = "g-blocking"}, [] {
      ++begun;
      blocks_here();
    });
    sley::go({.name = "g-quiet"}, [] {
      ++begun;
      sleeps_here();
    });
    sley::go({.name = "g-locked"}, [never] {
      this_goroutine::lock_os_thread();
      ++begun;
      parks_here(never);
    });
    sley::go({.name = "g-computing"}, [] {
      ++begun;
      spins_here(stop);
    });
    quit_soon(begun, 5);
    sley::block_forever();
    return 3;
  });
}

// E17, TestStackAllOutput, TestCrashDumpsAllThreads
TEST(sigquit, shows_every_goroutine_its_state_and_its_stack) {
  const auto child = run_child("does_everything");
  expect_quit(child);
  const auto shown = goroutines_in(child.err);
  EXPECT_EQ(shown.size(), 7u) << child;
  EXPECT_EQ(find(shown, "goroutine 1 ").state, "select (no cases)") << child;
  EXPECT_EQ(find(shown, "g-parked").state, "chan receive") << child;
  expect_frame(find(shown, "g-parked"), "parks_here");
  EXPECT_EQ(find(shown, "g-sleeping").state, "sleep") << child;
  EXPECT_EQ(find(shown, "g-locked").state, "chan receive, locked to thread") << child;
  expect_frame(find(shown, "g-locked"), "parks_here");
  EXPECT_EQ(find(shown, "g-blocking").state, "syscall") << child;
  expect_frame(find(shown, "g-blocking"), "blocks_here", "sigquit_test.cpp");
  // Its thread sleeps in the kernel, though the runtime was not told.
  EXPECT_EQ(find(shown, "g-quiet").state, "syscall") << child;
  expect_frame(find(shown, "g-quiet"), "sleeps_here", "sigquit_test.cpp");
  // It may be between two of its time slices.
  EXPECT_TRUE(matches(find(shown, "g-computing").state, "running|runnable|preempted")) << child;
  expect_frame(find(shown, "g-computing"), "spins_here", "sigquit_test.cpp");
}

TEST(sigquit, shows_frames_in_gos_layout_and_every_creator) {
  const auto child = run_child("does_everything");
  const auto shown = goroutines_in(child.err);
  for (const auto& g : shown) {
    EXPECT_GE(g.lines.size(), 2u) << g.header << " has no frames: " << child;
    int creators = 0;
    int places = 0;  // an inlined call has none
    for (const std::string& line : g.lines) {
      if (matches(line, "\t[^[:space:]].* \\+0x[0-9a-f]+")) ++places;
      if (line.rfind("created by ", 0) != 0) continue;
      ++creators;
      EXPECT_TRUE(matches(line, "created by [^[:space:]].* in goroutine 1")) << line;
    }
    EXPECT_GE(places, 1) << g.header << ": " << child;
    EXPECT_EQ(creators, g.id == 1 ? 0 : 1) << g.header << ": " << child;
  }
  if (sley_test::has_line_numbers()) {
    EXPECT_TRUE(find(shown, "g-parked").mentions("starts_one_here")) << child;
  }
}

namespace {

struct named_wait {
  const char* name;
  std::chrono::seconds time;
};
constexpr named_wait waits_in_minutes[] = {
    {"g-now", 0min}, {"g-one", 1min}, {"g-five", 5min}, {"g-day", 24h}};

// As if it had parked that much earlier.
void backdate(const void* goroutine, std::chrono::seconds time) {
  auto& since_s = static_cast<sley::rt::goroutine*>(const_cast<void*>(goroutine))->parked_s;
  since_s.store_relaxed(since_s.load_relaxed() - static_cast<std::uint32_t>(time.count()));
}

}  // namespace

CHILD_MAIN(has_waited_for_minutes) {
  return run([] {
    const chan<int> never;
    for (const auto [name, time] : waits_in_minutes) {
      std::atomic<const void*> waiting{nullptr};
      sley_test::go_until_parked([&waiting, name, never] {
        this_goroutine::set_name(name);
        waiting = sley_test::current_goroutine();
        parks_here(never);
      });
      backdate(waiting, time);
    }
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(sley_test::patience);  // no deadlock before it has arrived
    return 3;
  });
}

// E17: minutes from the first one on, for goroutines that wait and for no others.
TEST(sigquit, says_for_how_many_minutes_a_goroutine_has_waited) {
  const auto child = run_child("has_waited_for_minutes");
  expect_quit(child);
  const auto shown = goroutines_in(child.err);
  EXPECT_EQ(find(shown, "g-now").state, "chan receive") << child;
  EXPECT_EQ(find(shown, "g-one").state, "chan receive, 1 minutes") << child;
  EXPECT_EQ(find(shown, "g-five").state, "chan receive, 5 minutes") << child;
  EXPECT_EQ(find(shown, "g-day").state, "chan receive, 1440 minutes") << child;
}

CHILD_MAIN(counts_goroutines) {
  return run([] {
    static std::atomic<int> begun{0};
    sley::wait_group ended;
    for (int i = 0; i < 100; ++i) ended.go([] { this_goroutine::yield(); });
    ended.wait();
    const chan<int> never;
    for (int i = 0; i < 50; ++i) {
      sley::go([never] {
        ++begun;
        parks_here(never);
      });
    }
    // Goroutines that have done their last visible thing still have to end.
    (void)sley_test::eventually(
        [] { return begun == 50 && sley::runtime::num_goroutines() == 51; });
    std::printf("%zu\n", sley::runtime::num_goroutines());
    std::fflush(stdout);
    quit_soon(begun, 50);
    this_goroutine::sleep_for(sley_test::patience);  // no deadlock before it has arrived
    return 3;
  });
}

// C17, TestNumGoroutine: the count agrees with the dump. E8, TestNoHelperGoroutines.
TEST(sigquit, shows_as_many_goroutines_as_there_are) {
  const auto child = run_child("counts_goroutines");
  expect_quit(child);
  EXPECT_EQ(child.out, "51\n") << child;
  EXPECT_EQ(goroutines_in(child.err).size(), 51u) << child;
}

CHILD_MAIN(quits_itself) {
  return run([] {
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}
CHILD_MAIN(quits_a_computing_one) {
  return run([] {
    static std::atomic<int> begun{1};
    static std::atomic<bool> never{false};
    quit_soon(begun, 1);
    spins_here(never);
    return 3;
  });
}
CHILD_MAIN(quits_while_all_sleep) {
  return run([] {
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGQUIT;
    timer_t timer = {};
    const itimerspec once = {{0, 0}, {0, 50'000'000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 4;
    if (timer_settime(timer, 0, &once, nullptr) != 0) return 5;
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}
CHILD_MAIN(quits_after_the_run) {
  run([] { sley::go([] { sley::block_forever(); }); });
  ::kill(::getpid(), SIGQUIT);
  ::sleep(sley_test::patience.count());
  return 3;
}
CHILD_MAIN(quits_on_its_thread) {
  return run(on_this_thread, [] {
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}
CHILD_MAIN(quits_while_all_allocate) {
  return run([] {
    static std::atomic<int> begun{1};
    for (int i = 0; i < 6; ++i) sley::go(sley_test::allocate_for_ever);
    quit_soon(begun, 1);
    sley::block_forever();
    return 3;
  });
}
CHILD_MAIN(quits_several_times_at_once) {
  return run([] {
    static std::atomic<int> begun{1};
    for (int i = 0; i < 6; ++i) quit_soon(begun, 1);
    for (;;) this_goroutine::yield();
    return 3;
  });
}

TEST(sigquit, ends_a_process_in_any_state) {
  for (const char* name :
       {"quits_itself", "quits_a_computing_one", "quits_while_all_sleep", "quits_after_the_run",
        "quits_on_its_thread", "quits_while_all_allocate", "quits_several_times_at_once"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 2) << name << ": " << child;
    EXPECT_EQ(child.err.rfind("SIGQUIT: quit\n", 0), 0u) << name << ": " << child;
    EXPECT_EQ(occurrences(child.err, "SIGQUIT: quit\n"), 1) << name << ": " << child;
  }
}

namespace {

std::atomic<int> quits_handled{0};
void count_quit(int) { ++quits_handled; }

int survive_a_quit() {
  return run([] {
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(20ms);
    return sley::async([] { return 7; }).get();
  });
}

}  // namespace

CHILD_MAIN(handles_quits_before_the_start) {
  std::signal(SIGQUIT, &count_quit);
  const int status = survive_a_quit();
  return quits_handled == 1 ? status : 4;
}
CHILD_MAIN(handles_quits_after_the_start) {
  (void)sley::runtime::max_procs();
  std::signal(SIGQUIT, &count_quit);
  const int status = survive_a_quit();
  return quits_handled == 1 ? status : 4;
}
CHILD_MAIN(ignores_quits) {
  std::signal(SIGQUIT, SIG_IGN);
  return survive_a_quit();
}

TEST(sigquit, belongs_to_the_program_if_it_wants_it) {
  for (const char* name :
       {"handles_quits_before_the_start", "handles_quits_after_the_start", "ignores_quits"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
    EXPECT_EQ(child.err, "") << name << ": " << child;
  }
}
