// The thread-block profile: each sleep of a thread that nothing has announced is counted once, at
// its place and in its system call, with at least the time that the test has let it sleep, and at
// most the time that the test has measured. Method: functions that sleep in known calls until they
// are in the profile and some time longer.
//
// The profile of a process only grows, so each test sleeps in functions of its own. Where stacks
// can't be read (sanitizers have frames of no fixed size) places are told apart by their calls
// alone.
#include "support/blocking_calls.hpp"
#include "support/dump.hpp"
#include "support/exposition.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

using sley::debug::profile_kind;
using sley_test::byte_pipe;
using sley_test::contains_match;
using sley_test::eventually;
using sley_test::not_a_tail_call;
using sley_test::parse_profile;
using sley_test::read_profile;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

#ifdef SYS_poll
constexpr char poll_call[] = "poll";
#else
constexpr char poll_call[] = "ppoll";  // newer CPUs have no other
#endif

constexpr auto held = 5ms;
constexpr std::uint64_t held_ns = std::chrono::nanoseconds(held).count();

// On while it lives.
class thread_block_profile {
 public:
  thread_block_profile() { sley::debug::set_thread_block_profile(true); }
  ~thread_block_profile() { sley::debug::set_thread_block_profile(false); }
  thread_block_profile(const thread_block_profile&) = delete;
  thread_block_profile& operator=(const thread_block_profile&) = delete;
};

// A place in the program, and the system call that it sleeps in.
struct site {
  std::string_view function;
  std::string call;
};

struct sums {
  std::uint64_t count = 0;
  std::uint64_t lost_ns = 0;
  std::uint64_t delay_ns = 0;

  sums operator-(const sums& before) const {
    return {count - before.count, lost_ns - before.lost_ns, delay_ns - before.delay_ns};
  }
};

sums sums_at(const site& s, const read_profile& p) {
  sums result;
  for (const auto& sample : p.samples) {
    const bool is_there = sley_test::under_sanitizer || sample.is_in(s.function);
    if (!is_there || sample.labels.at("syscall") != s.call) continue;
    result.count += sample.values[0];
    result.lost_ns += sample.values[1];
    result.delay_ns += sample.values[2];
  }
  return result;
}

read_profile read_now() { return parse_profile(sley::debug::profile(profile_kind::thread_block)); }
sums sums_at(const site& s) { return sums_at(s, read_now()); }

double metric_now(const char* name) {
  return sley_test::parse_exposition(sley::debug::metrics_text(sley::debug::metrics())).value(name);
}

std::uint64_t ns_since(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
}

// Runs sleep() in a goroutine until its block is in the profile and for some time more, then
// wake(). Expects that the profile has that one block with the right time.
template <class Sleep, class Wake>
void expect_one_block(const site& s, Sleep sleep, Wake wake) {
  const sums before = sums_at(s);
  const auto begin = std::chrono::steady_clock::now();
  sley::wait_group end;
  end.go(sleep);
  EXPECT_TRUE(eventually([&] { return (sums_at(s) - before).count != 0; })) << s.function;
  sley::this_goroutine::sleep_for(held);
  wake();
  end.wait();
  const std::uint64_t measured_ns = ns_since(begin);
  const sums block = sums_at(s) - before;
  EXPECT_EQ(block.count, 1u) << s.function;
  EXPECT_GE(block.delay_ns, block.lost_ns + held_ns) << s.function;
  EXPECT_LE(block.delay_ns, measured_ns) << s.function;
}

}  // namespace

// Functions that sleep. Each is a place of its own.
[[gnu::noinline]] void sleeps_in_usleep(std::chrono::microseconds duration) {
  EXPECT_EQ(::usleep(static_cast<useconds_t>(duration.count())), 0);
}
[[gnu::noinline]] void sleeps_in_a_std_mutex(std::mutex& m) {
  const std::scoped_lock lock(m);
  not_a_tail_call();
}
[[gnu::noinline]] void sleeps_in_poll(const byte_pipe& pipe) {
  pollfd p = {.fd = pipe.fds[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&p, 1, -1), 1);  // and not EINTR
}
[[gnu::noinline]] void sleeps_in_read(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void sleeps_announced(const byte_pipe& pipe) {
  EXPECT_EQ(sley::blocking([&] { return pipe.read(); }), 'x');
}
[[gnu::noinline]] void sleeps_unseen(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void sleeps_before_a_call(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void sleeps_for_text(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void sleeps_for_values(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void sleeps_meanwhile() {
  EXPECT_EQ(::usleep(30'000), 0);  // sysmon may take 13 ms
  not_a_tail_call();
}

GO_TEST(thread_block_profile, names_function_and_system_call_and_has_the_times) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const thread_block_profile on;
  std::mutex m;
  m.lock();
  expect_one_block(
      {"sleeps_in_a_std_mutex", "futex"}, [&] { sleeps_in_a_std_mutex(m); }, [&] { m.unlock(); });
  const byte_pipe pipe;
  expect_one_block(
      {"sleeps_in_poll", poll_call}, [&] { sleeps_in_poll(pipe); }, [&] { pipe.write('x'); });
  EXPECT_EQ(pipe.read(), 'x');
  expect_one_block(
      {"sleeps_in_read", "read"}, [&] { sleeps_in_read(pipe); }, [&] { pipe.write('x'); });
  const read_profile p = read_now();
  EXPECT_EQ(p.units,
            (std::vector<std::string>{"blocks/count", "lost/nanoseconds", "delay/nanoseconds"}));
  EXPECT_EQ(p.period_unit, "blocks/count");
  EXPECT_EQ(p.period, 1u);
}

// Without a hand that wakes it: the sleep is longer until the profile has it.
GO_TEST(thread_block_profile, has_sleeps_that_end_by_themselves) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const thread_block_profile on;
  const site s = {"sleeps_in_usleep", "clock_nanosleep"};
  const sums before = sums_at(s);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t sleeps = 0;
  for (auto duration = 1ms; sums_at(s).count == before.count && duration < 60s; duration *= 2) {
    sley::wait_group end;
    end.go([duration] { sleeps_in_usleep(duration); });
    end.wait();
    ++sleeps;
  }
  const sums all = sums_at(s) - before;
  EXPECT_GE(all.count, 1u);
  EXPECT_LE(all.count, sleeps);
  EXPECT_LE(all.lost_ns, all.delay_ns);
  EXPECT_LE(all.delay_ns, ns_since(begin));
}

GO_TEST(thread_block_profile, has_no_announced_call) {
  if (!sley_test::has_line_numbers() || sley_test::under_sanitizer) GTEST_SKIP();
  const thread_block_profile on;
  const byte_pipe pipe;
  const std::uint64_t before = sley::runtime::read_stats().retakes;
  sley::wait_group end;
  end.go([&] { sleeps_announced(pipe); });
  EXPECT_TRUE(eventually([&] { return sley::runtime::read_stats().retakes != before; }));
  pipe.write('x');
  end.wait();
  EXPECT_EQ(sums_at({"sleeps_announced", "read"}).count, 0u);
}

GO_TEST(thread_block_profile, has_nothing_while_it_is_off_and_the_metrics_go_on) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const site s = {"sleeps_unseen", "read"};
  const char* const count = "sley_unannounced_blocks_total";
  const char* const seconds = "sley_unannounced_block_seconds_total";
  const sums before = sums_at(s);
  const double count_before = metric_now(count);
  const double seconds_before = metric_now(seconds);
  const byte_pipe pipe;
  sley::wait_group end;
  end.go([&] { sleeps_unseen(pipe); });
  EXPECT_TRUE(eventually([&] { return metric_now(count) > count_before; }));
  sley::this_goroutine::sleep_for(held);
  pipe.write('x');
  end.wait();
  EXPECT_GE(metric_now(seconds) - seconds_before, std::chrono::duration<double>(held).count());
  EXPECT_EQ((sums_at(s) - before).count, 0u);
}

// The goroutine does not come by the runtime between the two calls.
GO_TEST(thread_block_profile, a_block_ends_before_an_announced_call) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const thread_block_profile on;
  const site s = {"sleeps_before_a_call", "read"};
  const sums before = sums_at(s);
  const byte_pipe first;
  const byte_pipe second;
  sley::wait_group end;
  end.go([&] {
    sleeps_before_a_call(first);
    EXPECT_EQ(sley::blocking([&] { return second.read(); }), 'x');
  });
  EXPECT_TRUE(eventually([&] { return (sums_at(s) - before).count != 0; }));
  first.write('x');
  sums block;
  EXPECT_TRUE(eventually([&] {
    block = sums_at(s) - before;
    return block.delay_ns > block.lost_ns;
  }));
  sley::this_goroutine::sleep_for(held);
  second.write('x');
  end.wait();
  EXPECT_EQ((sums_at(s) - before).delay_ns, block.delay_ns);
}

GO_TEST(thread_block_profile, as_text_has_the_layout_of_profiles_of_counts) {
  const thread_block_profile on;
  const byte_pipe pipe;
  const auto has_it = [](const std::string& text) {
    return contains_match(text, "^[0-9]+ @( 0x[0-9a-f]+)+$") &&
           contains_match(text,
                          "^# in read for [0-9]+[.][0-9]{3} ms, with the processor for "
                          "[0-9]+[.][0-9]{3} ms$");
  };
  std::string text;
  sley::wait_group end;
  end.go([&] { sleeps_for_text(pipe); });
  EXPECT_TRUE(eventually([&] {
    text = sley::debug::profile_text(profile_kind::thread_block);
    return has_it(text);
  })) << text;
  pipe.write('x');
  end.wait();
  EXPECT_TRUE(contains_match(text, "^threadblock profile: total [0-9]+$")) << text;
  if (sley_test::has_line_numbers() && !sley_test::under_sanitizer) {
    EXPECT_TRUE(eventually([] {
      return contains_match(sley::debug::profile_text(profile_kind::thread_block),
                            "^#\t0x[0-9a-f]+\t.*[+]0x[0-9a-f]+\t.*_test.cpp:[0-9]+$");
    }));
  }
}

GO_TEST(thread_block_profile, has_the_same_as_values) {
  const thread_block_profile on;
  const byte_pipe pipe;
  sley::wait_group end;
  end.go([&] { sleeps_for_values(pipe); });
  std::vector<sley::debug::thread_block_group> all;
  EXPECT_TRUE(eventually([&] {
    all = sley::debug::thread_blocks();
    return std::ranges::any_of(all, [](const auto& b) { return b.system_call == "read"; });
  }));
  pipe.write('x');
  end.wait();
  for (const auto& b : all) {
    EXPECT_GE(b.count, 1u);
    EXPECT_GE(b.delay, b.lost);
  }
  EXPECT_TRUE(
      std::ranges::is_sorted(all, std::ranges::greater(), &sley::debug::thread_block_group::delay));
}

GO_TEST(thread_block_profile, as_a_delta_has_what_comes_meanwhile) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const thread_block_profile on;
  std::atomic<bool> is_over{false};
  sley::wait_group end;
  end.go([&] {
    while (!is_over) {
      sleeps_meanwhile();
      sley::this_goroutine::yield();
    }
  });
  EXPECT_TRUE(eventually([] {
    const read_profile p =
        parse_profile(sley::debug::delta_profile(profile_kind::thread_block, 100ms));
    EXPECT_GE(p.duration_ns, 100'000'000u);
    return sums_at({"sleeps_meanwhile", "clock_nanosleep"}, p).count != 0;
  }));
  is_over = true;
  end.wait();
}

// Both compute until they are stopped: the one anywhere, the other at its calls of the library.
[[gnu::noinline]] void computes_without_calls(const std::atomic<bool>& is_over) {
  while (!is_over) asm volatile("");
  not_a_tail_call();
}
[[gnu::noinline]] void computes_with_calls(const std::atomic<bool>& is_over) {
  const sley::chan<int> c(1);
  while (!is_over) {
    c.send(1);
    c.receive();
  }
}

GO_TEST(thread_block_profile, has_goroutines_that_use_their_slices_up) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const thread_block_profile on;
  constexpr std::uint64_t slice_ns = 10'000'000;
  const std::array sites = {site{"computes_without_calls", "preempted"},
                            site{"computes_with_calls", "preempted"}};
  const double overrun_before = metric_now("sley_overrun_seconds_total");
  const double preemptions_before = metric_now("sley_preemptions_total");
  const std::array before = {sums_at(sites[0]), sums_at(sites[1])};
  std::atomic<bool> is_over{false};
  sley::wait_group end;
  for (int i = 0; i <= sley::runtime::max_procs(); ++i) {
    end.go([&] { computes_without_calls(is_over); });
    end.go([&] { computes_with_calls(is_over); });
  }
  const auto has_both = [&] {
    return sums_at(sites[0]).count != before[0].count && sums_at(sites[1]).count != before[1].count;
  };
  EXPECT_TRUE(eventually(has_both));
  is_over = true;
  end.wait();
  double count = 0;
  double lost_s = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const sums all = sums_at(sites[i]) - before[i];
    EXPECT_EQ(all.delay_ns, all.count * slice_ns + all.lost_ns) << sites[i].function;
    if (sley_test::under_sanitizer && i == 1) break;  // places are not told apart
    count += static_cast<double>(all.count);
    lost_s += std::chrono::duration<double>(std::chrono::nanoseconds(all.lost_ns)).count();
  }
  EXPECT_LE(count, metric_now("sley_preemptions_total") - preemptions_before);
  EXPECT_LE(lost_s, metric_now("sley_overrun_seconds_total") - overrun_before + 1e-6);
}

namespace {

// Functions that call each other in pairs of the same number.
template <int Number>
[[gnu::noinline]] void naps_inside() {
  EXPECT_EQ(::usleep(Number * 500), 0);
  not_a_tail_call();
}
template <int Number>
[[gnu::noinline]] void naps_outside() {
  naps_inside<Number>();
  not_a_tail_call();
}

bool has_frame(const std::vector<std::string>& functions, const char* name, int number) {
  const std::string whole = std::string(name) + '<' + std::to_string(number) + '>';
  return std::ranges::any_of(functions,
                             [&](const auto& f) { return f.find(whole) != std::string::npos; });
}

// How many times a thread has slept there.
std::uint64_t blocks_in(const sley_test::profile_sample& s) {
  return s.labels.at("syscall") == "preempted" ? 0 : s.values[0];
}

}  // namespace

// Goroutines wake while their stacks are read.
GO_TEST(thread_block_profile, has_no_wrong_stack_and_no_block_twice) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  constexpr auto naps =
      std::array{&naps_outside<1>, &naps_outside<2>, &naps_outside<3>, &naps_outside<4>};
  const double metric_before = metric_now("sley_unannounced_blocks_total");
  std::uint64_t count_before = 0;
  for (const auto& sample : read_now().samples) count_before += blocks_in(sample);
  const int times = rounds(100);
  {
    const thread_block_profile on;
    sley::wait_group end;
    for (std::size_t i = 0; i < naps.size(); ++i) {
      end.go([&, i] {
        for (int n = 0; n < times; ++n) {
          naps[i]();
          sley::this_goroutine::yield();
        }
      });
    }
    end.wait();
  }
  std::uint64_t count = 0;
  for (const auto& sample : read_now().samples) {
    count += blocks_in(sample);
    EXPECT_LE(sample.values[1], sample.values[2]);
    for (int number = 1; number <= 4; ++number) {
      EXPECT_EQ(has_frame(sample.functions, "naps_inside", number),
                has_frame(sample.functions, "naps_outside", number))
          << testing::PrintToString(sample.functions);
    }
  }
  EXPECT_LE(static_cast<double>(count - count_before),
            metric_now("sley_unannounced_blocks_total") - metric_before);
}
