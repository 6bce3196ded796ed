// Workloads for threads and processes: computing without end, calls that block their thread, said
// or unsaid, locked goroutines, foreign threads, child processes, signals.
#include "soak/soak.hpp"
#include "support/account.hpp"
#include "support/child.hpp"
#include "support/owned_threads.hpp"
#include "support/scale.hpp"
#include "support/thread_group.hpp"
#include "support/threads.hpp"
#include "support/use_everything.hpp"

#include <sley/os.hpp>
#include <sley/signal.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using sley::chan;
using sley::wait_group;
using sley_test::account;
using sley_test::random_source;
using sley_test::rounds;
using sley_test::sleep_in_the_kernel;
using soak::count;
using soak::tally;
using namespace std::chrono_literals;

namespace {

// --- computing -----------------------------------------------------------------------------------

// In integer, floating-point and vector registers; the same each time.
std::uint64_t compute(std::uint64_t seed, int steps) {
  double sum = 0;
  float wide[8] = {};
  std::uint64_t x = seed | 1;
  for (int i = 0; i < steps; ++i) {
    x = sley_test::xorshift(x, 4);
    sum += 1.0 / static_cast<double>(x % 1000 + 1);
    for (std::size_t k = 0; k < 8; ++k) {
      wide[k] = wide[k] * 0.5F + static_cast<float>((x >> (8 * k)) % 256);
    }
  }
  for (const float w : wide) sum += static_cast<double>(w);
  return x ^ static_cast<std::uint64_t>(sum * 1e6);
}

// Some compute for longer than a time slice, some allocate all the time; goroutines that only want
// to pass a value on get their turn.
void hog(random_source& random) {
  wait_group group;
  const int steps = rounds(100'000 + random.index(2'000'000));
  const auto hogs = 1 + random.below(6);
  for (std::uint64_t i = 0; i < hogs; ++i) {
    group.go([steps, seed = random()] { EXPECT_EQ(compute(seed, steps), compute(seed, steps)); });
  }
  for (auto i = random.below(4); i > 0; --i) {
    group.go([own = random_source(random()), times = rounds(3000)]() mutable {
      std::vector<std::string> kept(50);
      for (int t = 0; t < times; ++t) {
        std::string& one = kept[own.below(kept.size())];
        EXPECT_TRUE(one.empty() || one.front() == one.back());
        one.assign(1 + own.below(4000), static_cast<char>('a' + own.below(26)));
      }
    });
  }
  const chan<int> there, back;
  group.go([=] {
    for (const int v : there) back.send(v + 1);
    back.close();
  });
  for (int i = 0; i < 20; ++i) {
    there.send(i);
    EXPECT_EQ(back.receive(), i + 1);
  }
  there.close();
  group.wait();
  count(tally::computations, hogs);
}

// --- blocking ------------------------------------------------------------------------------------

// Not told to the runtime, told, or as a raw call; some under a lock of the standard's. A signal of
// preemption that comes late may end a call early (EINTR in docs/blocking_and_preemption.md).
void block_threads(random_source& random) {
  std::mutex mutex;
  std::uint64_t in_mutex = 0;  // [lock: mutex]
  std::atomic<std::uint64_t> entered{0}, interrupted{0};
  wait_group group;
  const auto number = 1 + random.below(20);
  const int times = rounds(30);
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([&, own = random_source(random())]() mutable {
      for (int t = 0; t < times; ++t) {
        const auto d = own.below(own.one_in(30) ? 30'000 : 500) * 1us;
        switch (own.below(4)) {
          case 0: ::usleep(static_cast<useconds_t>(d / 1us)); break;
          case 1:
            if (!sley::blocking([d] { return sleep_in_the_kernel(d); })) ++interrupted;
            break;
          case 2: {
            const timespec time = {0, std::chrono::nanoseconds(d).count()};
            if (sley::syscall(SYS_nanosleep, &time, nullptr) != 0) ++interrupted;
            break;
          }
          default: {
            const std::lock_guard guard(mutex);
            const std::uint64_t before = in_mutex;
            if (own.one_in(3)) ::usleep(100);
            in_mutex = before + 1;
            ++entered;
          }
        }
      }
    });
  }
  group.wait();
  EXPECT_EQ(in_mutex, entered);
  count(tally::interrupted_calls, interrupted);
  count(tally::blocking_calls, number * static_cast<std::uint64_t>(times));
}

// --- locked and foreign --------------------------------------------------------------------------

void own_threads(random_source& random) {
  sley_test::strangers others(4);
  wait_group group;
  const auto number = 1 + random.below(10);
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([times = rounds(10), ends_locked = random.one_in(4)] {
      sley::this_goroutine::lock_os_thread();
      for (int t = 0; t < times; ++t) sley_test::wait_a_little();
      if (!ends_locked) sley::this_goroutine::unlock_os_thread();
    });
  }
  group.wait();
  count(tally::locked_goroutines, number);
}

// Threads and goroutines send each other tokens.
void trade_with_threads(random_source& random) {
  const chan<std::uint64_t> c(random.below(5));
  const int each = rounds(200);
  sley::mutex mutex;
  account sent, received;  // [lock: mutex]
  const auto send = [&](std::uint64_t self) {
    account mine;
    for (int i = 0; i < each; ++i) {
      const std::uint64_t token = self << 32 | static_cast<std::uint64_t>(i);
      c.send(token);
      mine.add(token);
    }
    const std::lock_guard guard(mutex);
    sent.add(mine);
  };
  const auto receive = [&] {
    account mine;
    for (const std::uint64_t token : c) mine.add(token);
    const std::lock_guard guard(mutex);
    received.add(mine);
  };
  const auto goroutines = 1 + random.below(6);
  const auto threads = 1 + random.below(4);
  {
    wait_group receiving;
    sley_test::thread_group senders, receivers;
    for (std::uint64_t i = 0; i < threads; ++i) receivers.go(receive);
    for (std::uint64_t i = 0; i < goroutines; ++i) receiving.go(receive);
    wait_group sending;
    for (std::uint64_t i = 0; i < threads; ++i) senders.go([send, i] { send(i); });
    for (std::uint64_t i = 0; i < goroutines; ++i) sending.go([send, i] { send(100 + i); });
    sending.wait();
    senders.wait();
    c.close();
    receiving.wait();
  }
  EXPECT_TRUE(sent == received) << sent.tokens << " sent, " << received.tokens << " received";
  count(tally::foreign_threads, 2 * threads);
  count(tally::channel_values, received.tokens);
}

void use_everything_anywhere(random_source& random) {
  const auto use = [] {
    sley_test::use_channels();
    sley_test::use_select();
    sley_test::use_time();
    sley_test::use_locks_and_futures();
  };
  wait_group group;
  sley_test::thread_group threads;
  for (auto i = 1 + random.below(10); i > 0; --i) group.go(use);
  if (random.one_in(2)) {
    threads.go(use);
    count(tally::foreign_threads);
  }
  group.wait();
}

// --- processes -----------------------------------------------------------------------------------

// All input comes out again, and each child tells how it has ended.
void run_processes(random_source& random) {
  wait_group group;
  const auto number = 1 + random.below(4);
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([own = random_source(random())]() mutable {
      if (own.one_in(2)) {
        std::string text(own.below(200'000), '\0');
        for (char& c : text) c = static_cast<char>(own());
        const auto result = sley::os::run({.program = "cat"}, {.input = text});
        EXPECT_TRUE(result.status.success()) << result.status.to_string();
        EXPECT_TRUE(result.output == text) << result.output.size() << " of " << text.size();
      } else if (own.one_in(2)) {
        const int code = own.index(256);
        const auto result = sley::os::run(
            {.program = "/bin/sh", .arguments = {"-c", "exit " + std::to_string(code)}});
        EXPECT_EQ(result.status.code(), code);
      } else {
        const auto child = sley::os::process::start({.program = "sleep", .arguments = {"100"}});
        sley::this_goroutine::sleep_for(own.below(1000) * 1us);
        child.kill(SIGKILL);
        EXPECT_EQ(child.wait().signal(), SIGKILL);
      }
    });
  }
  group.wait();
  count(tally::processes, number);
}

// Not a tail call, and of no known depth.
[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

// The sanitizers report it themselves, in words of their own.
void overflow_a_stack(random_source& random) {
  if (sley_test::under_sanitizer) return run_processes(random);
  const auto result = sley::os::run(
      {.program = "/proc/self/exe", .arguments = {"--sley_child=overflows_its_stack"}});
  EXPECT_FALSE(result.status.success());
  EXPECT_NE(result.errors.find("stack overflow"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("recurse"), std::string::npos) << result.errors;
  count(tally::stack_overflows);
  count(tally::processes);
}

// --- signals -------------------------------------------------------------------------------------

// Sends signals one after the other, so that none is taken for two. Each channel that wants the
// signal gets it.
void signal_every_channel(random_source& random) {
  static sley::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  const int signal = random.one_in(2) ? SIGUSR1 : SIGUSR2;
  std::vector<chan<int>> channels;
  for (auto i = 1 + random.below(5); i > 0; --i) {
    channels.emplace_back(1);
    sley::os::notify(channels.back(), signal);
  }
  const auto times = 1 + random.below(20);
  for (std::uint64_t t = 0; t < times; ++t) {
    EXPECT_EQ(::kill(::getpid(), signal), 0);
    for (const auto& c : channels) EXPECT_EQ(c.receive(), signal);
  }
  for (const auto& c : channels) sley::os::stop_notify(c);
  count(tally::signals, times * channels.size());
}

// The signal of preemption comes from a foreign thread, which asks for nothing by it.
void be_interrupted(random_source& random) {
  sley_test::thread_group threads;
  threads.go([stream = random(), times = rounds(200)] {
    random_source own(stream);
    for (int t = 0; t < times; ++t) {
      EXPECT_EQ(::kill(::getpid(), SIGURG), 0);
      if (own.one_in(3)) sley_test::compute_for(own.below(50) * 1us);
    }
  });
  count(tally::foreign_threads);
  use_everything_anywhere(random);
  const int steps = rounds(100'000);
  EXPECT_EQ(compute(1, steps), compute(1, steps));
  count(tally::computations);
}

}  // namespace

CHILD_MAIN(overflows_its_stack) {
  return sley::run([] {
    sley::go([] { std::_Exit(recurse(0) == 1 ? 3 : 4); });
    sley::this_goroutine::sleep_for(20s);
  });
}

SOAK_LAP(system_hogs) { hog(random); }
SOAK_LAP(system_blocking) { block_threads(random); }
SOAK_LAP(system_locked) { own_threads(random); }
SOAK_LAP(system_threads) { trade_with_threads(random); }
SOAK_LAP(system_everything) { use_everything_anywhere(random); }
SOAK_LAP(system_processes) { run_processes(random); }
SOAK_LAP(system_overflow) { overflow_a_stack(random); }
SOAK_LAP(system_signals) { signal_every_channel(random); }
SOAK_LAP(system_interrupts) { be_interrupted(random); }
