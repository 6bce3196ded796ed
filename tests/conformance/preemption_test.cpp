// Preemption: goroutines that never call the library lose their processor after a slice, at any
// instruction, and notice nothing. Nearly all tests have one processor, two goroutines that compute
// until they are told to stop, and a main goroutine that gets to tell them only if they are
// preempted. Stop flags are atomic also for the thread sanitizer, which delivers signals there.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/linkage.hpp"
#include "support/preempt.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

using sley::chan;
using sley::runtime::read_stats;
using sley_test::compute_for;
using sley_test::get_errno;
using sley_test::preempt;
using sley_test::preempt_in_the_middle_of;
using sley_test::processors;
using sley_test::run_child;
using sley_test::under_tsan;
using sley_test::xorshift;
using namespace std::chrono_literals;

// --- progress ------------------------------------------------------------------------------------

namespace {

// Each of `count` goroutines, started by the one before it, waits three times for its turn without
// calling the library.
void take_turns(std::atomic<unsigned>& turn, unsigned self, unsigned count,
                sley::wait_group& group) {
  if (self + 1 < count) group.go([&, self, count] { take_turns(turn, self + 1, count, group); });
  for (unsigned lap = 0; lap < 3; ++lap) {
    while (turn.load() != count * lap + self) {
    }
    ++turn;
  }
}

void take_turns(unsigned count) {
  std::atomic<unsigned> turn{0};
  sley::wait_group group;
  group.go([&] { take_turns(turn, 0, count, group); });
  group.wait();
}

}  // namespace

// C4, C5, TestGoroutineParallelism and 2, as there: the number of processors changes before it,
// right after a load that makes threads go to sleep.
GO_TEST(preemption, four_run_at_once_on_four_processors_that_were_set_just_before) {
  for (int round = 0; round < 5; ++round) {
    sley::wait_group load;
    for (int i = 0; i < 4; ++i) load.go([] { compute_for(200us); });
    load.wait();
    const processors four(4);
    take_turns(4);
  }
}

// C4 with fewer processors than goroutines: a goroutine that spins in vain is preempted.
GO_TEST(preemption, a_goroutine_that_spins_for_another_lets_it_run) {
  const processors one(1);
  take_turns(4);
}

namespace {

// Never inlined, one without a frame and one with a big one.
[[gnu::noinline]] std::uint64_t frameless(std::uint64_t x) { return (x ^ (x >> 7)) * 31; }
[[gnu::noinline]] std::uint64_t big_frame(std::uint64_t x) {
  volatile char frame[16384] = {};
  return static_cast<std::uint64_t>(frame[x % sizeof frame]);
}

}  // namespace

// C8, TestAsyncPreempt, TestPreemptSplitBig. Nothing ever stops these, and the process must end.
CHILD_MAIN(loops_for_ever) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    std::atomic<int> begun{0};
    const auto hog = [&begun](auto body) {
      sley::go([&begun, body]() mutable {
        ++begun;
        for (std::uint64_t i = 0;; ++i) body(i);
      });
    };
    hog([](std::uint64_t) { asm volatile(""); });
    hog([x = std::uint64_t{1}](std::uint64_t) mutable {
      x = xorshift(x, 1);
      asm volatile("" : : "r"(x));
    });
    hog([](std::uint64_t i) { asm volatile("" : : "r"(frameless(i))); });
    hog([](std::uint64_t i) { asm volatile("" : : "r"(big_frame(i))); });
    sley::go([&begun] {
      ++begun;
      for (;;) asm volatile("");  // a jump to itself
    });
    while (begun < 5) sley::this_goroutine::sleep_for(1ms);
    return read_stats().preemptions > 0 ? 7 : 3;
  });
}

TEST(preemption, stops_loops_without_any_call_and_so_does_the_end_of_main) {
  if (under_tsan) GTEST_SKIP() << "needs signals at any instruction";
  const auto child = run_child("loops_for_ever");
  EXPECT_EQ(child.status, 7) << child;
}

namespace {

// Until `done` is closed: computes for a turn, and wakes the other one of the pair.
void ping_pong(const chan<void>& done, const chan<void>& wake, int turn,
               volatile std::uint64_t& count) {
  for (bool goes_on = true; goes_on;) {
    sley::select(sley::on_receive(done, [&](bool) { goes_on = false; }),
                 sley::on_receive(wake, [&](bool) {
                   for (int i = 0; i < turn; ++i) count = count + 1;
                   wake.send();
                 }));
  }
}

}  // namespace

// C10, TestPingPongHog
GO_TEST(preemption, pairs_with_heavy_and_light_turns_get_comparable_shares) {
  if (sley_test::under_chaos) GTEST_SKIP() << "there chance, not a slice, says whose turn it is";
  const processors one(1);
  const chan<void> done;
  const std::array<chan<void>, 2> wake;
  volatile std::uint64_t counts[2] = {0, 0};
  sley::wait_group group;
  for (const std::size_t pair : {0u, 1u}) {
    const int turn = pair == 0 ? 1'000'000 : 1'000;
    for (int i = 0; i < 2; ++i) {
      group.go([&, pair, turn] { ping_pong(done, wake[pair], turn, counts[pair]); });
    }
  }
  for (const auto& c : wake) c.send();
  sley::this_goroutine::sleep_for(300ms);
  done.close();
  for (const auto& c : wake) c.receive();
  group.wait();
  EXPECT_LT(counts[0] / 20, counts[1]) << "heavy against light turns";
  EXPECT_LT(counts[1] / 20, counts[0]) << "light against heavy turns";
}

// C12, TestAfterFuncStarvation, with goroutines that never call the library
GO_TEST(preemption, goroutines_that_compute_do_not_starve_a_timer) {
  const processors one(1);
  std::atomic<bool> stop{false};
  sley::wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&stop] {
      while (!stop) {
      }
    });
  }
  const sley::timer timer = sley::after_func(1us, [&stop] { stop = true; });
  group.wait();
  EXPECT_TRUE(stop);
}

// --- at any instruction --------------------------------------------------------------------------

// The owner of one of malloc's locks is preempted, and the next one wants it.
GO_TEST(preemption, inside_malloc_and_free_stalls_no_other_goroutine) {
  preempt_in_the_middle_of([] {
    std::array<std::unique_ptr<unsigned char[]>, 32> blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::size_t bytes = 16 + i * i * 8;
      blocks[i].reset(new unsigned char[bytes]);
      std::memset(blocks[i].get(), static_cast<int>(i), bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i][15], i);
  });
}

// Each holds it for longer than a slice: the owner is preempted, and the other one sleeps.
GO_TEST(preemption, of_the_owner_of_a_std_mutex_lets_it_go_on) {
  const processors one(1);
  std::mutex mutex;
  bool owned = false;
  int laps[2] = {0, 0};
  preempt(2, 16, [&](const std::atomic<bool>& stop, int self) {
    while (!stop) {
      {
        const std::lock_guard guard(mutex);
        EXPECT_FALSE(owned);
        owned = true;
        compute_for(15ms);
        owned = false;
      }
      ++laps[self];
      compute_for(1ms);  // so that the other one is not too late each time
    }
  });
  EXPECT_GT(laps[0] + laps[1], 2);
}

GO_TEST(preemption, of_regular_expressions_changes_no_match) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "user" + std::to_string(i) + "@host.org and some more; ";
  preempt_in_the_middle_of([&text] {
    const std::regex pattern("([a-z]+)([0-9]+)@(host|guest)\\.org");
    const std::sregex_iterator begin(text.begin(), text.end(), pattern);
    EXPECT_EQ(std::distance(begin, std::sregex_iterator()), 300);
  });
}

GO_TEST(preemption, of_qsort_leaves_its_array_sorted) {
  preempt_in_the_middle_of([] {
    std::vector<int> values(3000);
    std::uint64_t x = 1;
    for (int& value : values) value = static_cast<int>((x = xorshift(x, 1)) & 0xfffffff);
    std::qsort(values.data(), values.size(), sizeof values[0], [](const void* a, const void* b) {
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  });
}

// Both want the lock of the same stream.
GO_TEST(preemption, inside_printf_stalls_no_other_goroutine) {
  std::FILE* null = std::fopen("/dev/null", "w");
  ASSERT_NE(null, nullptr);
  preempt_in_the_middle_of([null] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(std::fprintf(null, "%4d %.3f %s\n", i, i / 100.0, "x"), 13);
    }
  });
  std::fclose(null);
}

// What takes locks of the C library's, and may not be called in a signal handler.
GO_TEST(preemption, inside_library_calls_with_locks_stalls_no_other_goroutine) {
  ::tzset();  // frees and allocates, under a lock that the sanitizer cannot see
  const bool has_names = !sley_test::is_linked_statically();
  preempt_in_the_middle_of([has_names] {
    for (std::time_t t = 0; t < 2'000'000'000; t += 100'000'000) {
      std::tm fields = {};
      EXPECT_EQ(::timegm(::gmtime_r(&t, &fields)), t);
    }
    EXPECT_EQ(::dlsym(RTLD_DEFAULT, "malloc") != nullptr, has_names);
    EXPECT_EQ(std::getenv("SLEY_NO_SUCH_NAME"), nullptr);
    EXPECT_THROW(std::stoi("x"), std::invalid_argument);
  });
}

namespace {

struct computes_when_destroyed {
  const std::atomic<bool>& stop;
  ~computes_when_destroyed() {
    while (!stop) {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      compute_for(50us);
    }
  }
};

}  // namespace

GO_TEST(preemption, in_destructors_and_handlers_leaves_the_exceptions_alone) {
  const processors one(1);
  const std::atomic<bool> stopped{true};
  preempt(4, 32, [&stopped](const std::atomic<bool>& stop, int self) {
    try {
      const computes_when_destroyed guard{self < 2 ? stop : stopped};
      throw self;
    } catch (const int caught) {
      const std::exception_ptr mine = std::current_exception();
      while (!stop) {
        EXPECT_EQ(std::current_exception(), mine);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        compute_for(50us);
      }
      EXPECT_EQ(caught, self);
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
}

namespace {
thread_local int local_value = 0;
}

GO_TEST(preemption, keeps_a_goroutine_on_its_thread_with_errno_and_thread_locals) {
  const processors one(1);
  preempt(3, 24, [](const std::atomic<bool>& stop, int self) {
    const pid_t thread = ::gettid();
    sley_test::set_errno(local_value = 1000 + self);
    while (!stop) {
      compute_for(50us);
      EXPECT_EQ(get_errno(), 1000 + self);
      EXPECT_EQ(local_value, 1000 + self);
      EXPECT_EQ(::gettid(), thread);
    }
  });
}
