// What a goroutine has in registers when it is preempted is there when it goes on: results of
// arithmetic that needs all of them, all vector registers that the CPU has, and the floating-point
// control words, which a goroutine also keeps when it waits.
#include "support/harness.hpp"
#include "support/preempt.hpp"
#include "support/threads.hpp"
#include "support/test_cpu.hpp"

#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <thread>

using sley_test::all_control_words;
using sley_test::compute_for;
using sley_test::control_words;
using sley_test::default_control_words;
using sley_test::preempt;
using sley_test::preempt_in_the_middle_of;
using sley_test::present_control_words;
using sley_test::processors;
using sley_test::register_image;
using sley_test::register_kind;
using sley_test::set_control_words;
using sley_test::xorshift;
using namespace std::chrono_literals;

namespace {

// Each step needs all eight values, and the result every bit of them. The factor is volatile, or
// compilers would call this once for a whole loop.
template <class T>
[[gnu::noinline]] T checksum() {
  T a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const volatile T factor = static_cast<T>(0.4999);
  const T scale = factor;
  for (int i = 0; i < 100'000; ++i) {
    a = a * scale + b, b = b * scale + c, c = c * scale + d, d = d * scale + e;
    e = e * scale + f, f = f * scale + g, g = g * scale + h, h = h * scale + a;
  }
  return a + b + c + d + e + f + g + h;
}

template <class T>
void expect_checksum_is_undisturbed() {
  T expected = 0;
  std::thread thread([&] { expected = checksum<T>(); });  // not preempted
  thread.join();
  preempt_in_the_middle_of([&] { EXPECT_EQ(checksum<T>(), expected); });
}

}  // namespace

GO_TEST(preemption, of_arithmetic_changes_no_result) {
  const volatile std::uint64_t seed = 42;
  preempt_in_the_middle_of([&] { EXPECT_EQ(xorshift(seed, 20'000), 0xc32ecc70c3b42910u); });
  expect_checksum_is_undisturbed<float>();
  expect_checksum_is_undisturbed<double>();
  expect_checksum_is_undisturbed<long double>();
}

GO_TEST(preemption, leaves_all_vector_registers_alone) {
  const auto kinds = sley_test::register_kinds();
  const processors one(1);
  preempt(2 * static_cast<int>(kinds.size()), 64, [&](const std::atomic<bool>& stop, int self) {
    const register_kind& kind = kinds[static_cast<std::size_t>(self / 2)];
    sley_test::random_source random(static_cast<std::uint64_t>(self));
    register_image from, to;
    while (kind.is_present && !stop) {
      for (auto& word : from) word = random();
      kind.hold(from, to);
      const auto* in = reinterpret_cast<const std::byte*>(from.data());
      const auto* out = reinterpret_cast<const std::byte*>(to.data());
      for (std::size_t r = kind.first; r <= kind.last; ++r) {
        const std::size_t at = r * kind.distance;
        EXPECT_EQ(std::memcmp(in + at, out + at, kind.bytes), 0) << r;
      }
    }
  });
}

namespace {

// Rounded down, a third is less than a third rounded up; at run time.
double a_third() {
  volatile double one = 1;
  return one / 3;
}

}  // namespace

GO_TEST(preemption, leaves_each_goroutine_its_rounding) {
  const processors one(1);
  preempt(4, 32, [](const std::atomic<bool>& stop, int self) {
    const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(modes[self]);
    const double expected = a_third();
    while (!stop) {
      compute_for(50us);
      EXPECT_EQ(std::fegetround(), modes[self]);
      EXPECT_EQ(a_third(), expected);
    }
  });
}

namespace {

constexpr int kind_count = std::size(all_control_words);

void wait_somehow(int round, sley::mutex& m) {
  switch (round % 3) {
    case 0: sley::this_goroutine::yield(); break;
    case 1: sley::this_goroutine::sleep_for(1us); break;
    default: m.lock(); m.unlock();
  }
}

// Goroutines of every kind in pairs, which exchange values, wait in other ways and start others.
void expect_waits_keep_control_words(int procs) {
  const processors some(procs);
  std::atomic<int> wrong{0}, wrong_at_the_start{0};
  sley::mutex m;
  sley::wait_group all;
  for (int pair = 0; pair < kind_count; ++pair) {
    sley::chan<int> c;
    for (int side = 0; side < 2; ++side) {
      all.go([&, pair, side, c] {
        const control_words own = all_control_words[(pair + side) % kind_count];
        if (present_control_words() != default_control_words) ++wrong_at_the_start;
        set_control_words(own);
        for (int round = 0; round < sley_test::rounds(300); ++round) {
          side == 0 ? c.send(round) : void(c.receive());
          if (present_control_words() != own) ++wrong;
          wait_somehow(round + pair, m);
          if (present_control_words() != own) ++wrong;
          all.go([&, own] {
            if (present_control_words() != default_control_words) ++wrong_at_the_start;
            set_control_words(own);
          });
        }
      });
    }
  }
  all.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(wrong_at_the_start, 0);
  EXPECT_EQ(present_control_words(), default_control_words);
}

}  // namespace

GO_TEST(waits, leave_each_goroutine_its_control_words) {
  for (const int procs : {1, 2, 4}) expect_waits_keep_control_words(procs);
}

GO_TEST(preemption, leaves_each_goroutine_its_control_words) {
  const processors one(1);
  preempt(kind_count, 64, [](const std::atomic<bool>& stop, int self) {
    set_control_words(all_control_words[self]);
    while (!stop) {
      compute_for(50us);
      EXPECT_EQ(present_control_words(), all_control_words[self]);
    }
    set_control_words(default_control_words);
  });
}
