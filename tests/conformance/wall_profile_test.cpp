// The wall-clock profile: it has each goroutine's time, by place and state, in proportion. Method:
// goroutines whose number and state are known for the whole time. Times are compared with each
// other, because a look that comes late stands for more time, and the last one may not come at all.
#include "support/blocking_calls.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using sley::chan;
using sley::debug::profile_kind;
using sley_test::byte_pipe;
using sley_test::eventually;
using sley_test::not_a_tail_call;
using sley_test::read_profile;
using namespace std::chrono_literals;

namespace {

read_profile profile_of(std::chrono::nanoseconds duration) {
  return sley_test::parse_profile(sley::debug::delta_profile(profile_kind::wall, duration));
}

// The time in a function, in one state or in all.
double time_in(const read_profile& p, std::string_view function, const std::string& state = {}) {
  std::uint64_t ns = 0;
  for (const auto& s : p.samples) {
    const bool is_in_state = state.empty() || s.labels.at("state") == state;
    if (is_in_state && s.is_in(function)) ns += s.values[1];
  }
  return static_cast<double>(ns);
}

std::uint64_t looks_in(const read_profile& p) {
  std::uint64_t looks = 0;
  for (const auto& s : p.samples) looks += s.values[0];
  return looks;
}

// Takes profiles until they have enough looks; the samples of all.
read_profile with_looks(std::uint64_t wanted) {
  read_profile all;
  while (looks_in(all) < wanted) {
    const read_profile p = profile_of(500ms);
    all.samples.insert(all.samples.end(), p.samples.begin(), p.samples.end());
  }
  return all;
}

// By place and state, for the output of a test that fails.
std::string text_of(const read_profile& p) {
  std::map<std::string, std::uint64_t> times;
  for (const auto& s : p.samples) {
    std::string line = s.labels.contains("state") ? s.labels.at("state") : "";
    for (const std::string& f : s.functions) line += " < " + f;
    times[line] += s.values[1];
  }
  std::string text;
  for (const auto& [line, ns] : times) text += std::to_string(ns) + ' ' + line + '\n';
  return text;
}

bool is_within_a_tenth(double value, double expected) {
  return value >= 0.9 * expected && value <= 1.1 * expected;
}

bool waits(std::string_view state, std::size_t count) {
  for (const auto& g : sley::debug::goroutine_profile()) {
    if (g.state == state && g.count >= count) return true;
  }
  return false;
}

}  // namespace

[[gnu::noinline]] void waits_for_a_value(const chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void waits_for_a_lock(sley::mutex& m) {
  m.lock();
  m.unlock();
  not_a_tail_call();
}
[[gnu::noinline]] void computes_until(const std::atomic<bool>& is_over) {
  while (!is_over) asm volatile("");
  not_a_tail_call();
}
[[gnu::noinline]] void yields_until(const std::atomic<bool>& is_over) {
  while (!is_over) sley::this_goroutine::yield();
  not_a_tail_call();
}
[[gnu::noinline]] void reads_unannounced(const byte_pipe& pipe) { EXPECT_EQ(pipe.read(), 'x'); }
[[gnu::noinline]] void reads_announced(const byte_pipe& pipe) {
  EXPECT_EQ(sley::blocking([&] { return pipe.read(); }), 'x');
}
[[gnu::noinline]] void waits_on_its_thread(const chan<int>& c) {
  const sley::os_thread_lock lock;
  c.receive();
  not_a_tail_call();
}

GO_TEST(wall_profile, has_the_time_of_each_goroutine_by_its_place_and_state) {
  if (!sley_test::has_line_numbers() || sley_test::under_sanitizer) GTEST_SKIP();
  chan<int> gate;
  sley::mutex m;
  std::atomic<bool> is_over{false};
  const byte_pipe first;
  const byte_pipe second;
  sley::wait_group end;
  m.lock();
  for (int i = 0; i < 4; ++i) end.go([&] { waits_for_a_value(gate); });
  for (int i = 0; i < 2; ++i) end.go([&] { waits_for_a_lock(m); });
  end.go([&] { waits_on_its_thread(gate); });
  end.go([&] { reads_announced(first); });
  end.go([&] { reads_unannounced(second); });
  EXPECT_TRUE(eventually([] { return waits("sync.Mutex.Lock", 2) && waits("chan receive", 4); }));
  end.go([&] { computes_until(is_over); });
  end.go([&] { yields_until(is_over); });
  const read_profile p = with_looks(1'000);
  is_over = true;
  first.write('x');
  second.write('x');
  gate.close();
  m.unlock();
  end.wait();
  const double one = time_in(p, "waits_for_a_value", "chan receive") / 4;
  EXPECT_GT(one, 0);
  const auto is_time_of = [&](double count, std::string_view function,
                              const std::string& state = {}) {
    return is_within_a_tenth(time_in(p, function, state), count * one);
  };
  EXPECT_TRUE(is_time_of(2, "waits_for_a_lock", "sync.Mutex.Lock")) << text_of(p);
  EXPECT_TRUE(is_time_of(1, "waits_on_its_thread", "chan receive")) << text_of(p);
  EXPECT_TRUE(is_time_of(1, "reads_announced", "syscall")) << text_of(p);
  EXPECT_TRUE(is_time_of(1, "reads_unannounced", "syscall")) << text_of(p);
  EXPECT_TRUE(is_time_of(1, "computes_until")) << text_of(p);  // or is in a queue
  EXPECT_TRUE(is_time_of(1, "yields_until")) << text_of(p);
}

GO_TEST(wall_profile, has_many_goroutines_in_proportion) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  constexpr int unit = sley_test::under_sanitizer ? 100 : 400;
  chan<int> gate;
  sley::mutex m;
  sley::wait_group end;
  m.lock();
  for (int i = 0; i < 7 * unit; ++i) end.go([&] { waits_for_a_value(gate); });
  for (int i = 0; i < 3 * unit; ++i) end.go([&] { waits_for_a_lock(m); });
  EXPECT_TRUE(eventually(
      [] { return waits("sync.Mutex.Lock", 3 * unit) && waits("chan receive", 7 * unit); }));
  const read_profile p = with_looks(6'000);
  gate.close();
  m.unlock();
  end.wait();
  const double long_part = time_in(p, "waits_for_a_value", "chan receive");
  const double short_part = time_in(p, "waits_for_a_lock", "sync.Mutex.Lock");
  EXPECT_TRUE(is_within_a_tenth(long_part, 0.7 * (long_part + short_part))) << long_part;
  EXPECT_TRUE(is_within_a_tenth(short_part, 0.3 * (long_part + short_part))) << short_part;
}

GO_TEST(wall_profile, has_samples_and_time_of_the_duration) {
  const read_profile p = profile_of(100ms);
  EXPECT_EQ(p.units, (std::vector<std::string>{"samples/count", "wall/nanoseconds"}));
  EXPECT_EQ(p.period_unit, "wall/nanoseconds");
  EXPECT_GE(p.duration_ns, 100'000'000u);
}

GO_TEST(wall_profile, is_not_there_without_a_duration) {
  EXPECT_THROW(sley::debug::profile(profile_kind::wall), std::invalid_argument);
  EXPECT_THROW(sley::debug::profile_text(profile_kind::wall), std::invalid_argument);
}

// Looks come while nothing else happens.
GO_TEST(wall_profile, is_taken_of_a_program_that_is_idle) {
  EXPECT_TRUE(eventually([] { return looks_in(profile_of(50ms)) != 0; }));
}

namespace {

// Functions that call each other in pairs of the same number.
template <int Number>
[[gnu::noinline]] void acts_inside() {
  const chan<int> c(1);
  sley::wait_group end;
  end.go([&] { EXPECT_EQ(c.receive(), Number); });
  sley::this_goroutine::yield();
  c.send(Number);
  end.wait();
  not_a_tail_call();
}
template <int Number>
[[gnu::noinline]] void acts_outside() {
  acts_inside<Number>();
  not_a_tail_call();
}

template <int Number>
void act(const std::atomic<bool>& is_over) {
  while (!is_over) acts_outside<Number>();
}

bool has_frame(const std::vector<std::string>& functions, const char* name, int number) {
  const std::string whole = std::string(name) + '<' + std::to_string(number) + ">()";
  return std::ranges::any_of(functions, [&](const auto& f) { return f.ends_with(whole); });
}

}  // namespace

// Goroutines begin, run, wait and end while they are looked at.
GO_TEST(wall_profile, has_no_wrong_stack) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  std::atomic<bool> is_over{false};
  sley::wait_group end;
  end.go([&] { act<1>(is_over); });
  end.go([&] { act<2>(is_over); });
  end.go([&] { act<3>(is_over); });
  const read_profile p = with_looks(static_cast<std::uint64_t>(sley_test::rounds(3'000)));
  is_over = true;
  end.wait();
  std::uint64_t found = 0;
  for (const auto& s : p.samples) {
    if (s.is_in("not_begun")) continue;  // it has one frame only, where it was started
    for (int number = 1; number <= 3; ++number) {
      const bool is_inside = has_frame(s.functions, "acts_inside", number);
      found += is_inside ? s.values[0] : 0;
      EXPECT_TRUE(!is_inside || has_frame(s.functions, "acts_outside", number))
          << testing::PrintToString(s.functions);
    }
  }
  EXPECT_GT(found, 0u);
}
