// What a goroutine has in registers when it is preempted is there when it goes on: results of
// arithmetic that needs all of them, all vector registers that the CPU has, and the floating-point
// control words, which a goroutine also keeps when it waits.
#include "support/harness.hpp"
#include "support/preempt.hpp"
#include "support/threads.hpp"

#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <thread>

using sley_test::compute_for;
using sley_test::preempt;
using sley_test::preempt_in_the_middle_of;
using sley_test::processors;
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

#ifdef __x86_64__
namespace {

constexpr std::size_t words_each = 8;  // room for the widest register
using image = std::array<std::uint64_t, 32 * words_each>;

// A function that loads registers, leaves them alone for some 100,000 cycles, and stores them.
// clang-format off
#define SLEY_HOLD(name, move, kind, numbers, and_then)                                        \
  void name(const image& from, image& to) {                                                   \
    asm volatile(                                                                             \
        ".irp r," numbers "\n\t" move " 64*\\r(%[from]), %%" kind "\\r\n\t.endr\n\t"          \
        "movl $100000, %%ecx\n1:\tdecl %%ecx\n\tjnz 1b\n\t"                                   \
        ".irp r," numbers "\n\t" move " %%" kind "\\r, 64*\\r(%[to])\n\t.endr\n\t" and_then   \
        : : [from] "r"(from.data()), [to] "r"(to.data())                                      \
        : "rcx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",      \
          "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");      \
  }
// clang-format on
#define SLEY_FIRST_16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define SLEY_ALL_32 SLEY_FIRST_16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

SLEY_HOLD(hold_sse, "movups", "xmm", SLEY_FIRST_16, "")
SLEY_HOLD(hold_avx, "vmovups", "ymm", SLEY_FIRST_16, "vzeroupper")
SLEY_HOLD(hold_avx512, "vmovups", "zmm", SLEY_ALL_32, "vzeroupper")
SLEY_HOLD(hold_masks, "kmovw", "k", "1,2,3,4,5,6,7", "")

struct register_kind {
  bool present;
  std::size_t first, last, bytes;
  void (*hold)(const image& from, image& to);
};

}  // namespace

GO_TEST(preemption, leaves_all_vector_registers_alone) {
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  const register_kind kinds[] = {{true, 0, 15, 16, hold_sse},
                                 {__builtin_cpu_supports("avx") != 0, 0, 15, 32, hold_avx},
                                 {avx512, 0, 31, 64, hold_avx512},
                                 {avx512, 1, 7, 2, hold_masks}};
  const processors one(1);
  preempt(8, 64, [&kinds](const std::atomic<bool>& stop, int self) {
    const register_kind& kind = kinds[self / 2];
    sley_test::random_source random(static_cast<std::uint64_t>(self));
    image from, to;
    while (kind.present && !stop) {
      for (auto& word : from) word = random();
      kind.hold(from, to);
      for (std::size_t r = kind.first; r <= kind.last; ++r) {
        EXPECT_EQ(std::memcmp(&from[r * words_each], &to[r * words_each], kind.bytes), 0) << r;
      }
    }
  });
}
#endif

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

#ifdef __x86_64__
namespace {

struct control_words {
  std::uint32_t mxcsr;
  std::uint16_t x87;
  bool operator==(const control_words&) const = default;
};

void set(control_words w) { asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(w.mxcsr), "m"(w.x87)); }

// Without the exception flags, which are not control.
control_words now() {
  control_words w;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(w.mxcsr), "=m"(w.x87));
  w.mxcsr &= ~0x3fU;
  return w;
}

constexpr control_words at_the_start = {0x1f80, 0x037f};
constexpr control_words kinds[] = {
    at_the_start,     {0x3f80, 0x037f},  // MXCSR alone: round down
    {0x9fc0, 0x037f},                    // flush to zero, denormals are zero
    {0x1d80, 0x037f},                    // a division by zero traps
    {0x1f80, 0x007f},                    // x87 alone: single precision
    {0x1f80, 0x0b7f},                    // round up
    {0x1d80, 0x037b},                    // both: a division by zero traps
    {0x7f80, 0x0f7f},                    // round to zero
};
constexpr int kind_count = std::size(kinds);

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
        const control_words own = kinds[(pair + side) % kind_count];
        if (now() != at_the_start) ++wrong_at_the_start;
        set(own);
        for (int round = 0; round < sley_test::rounds(300); ++round) {
          side == 0 ? c.send(round) : void(c.receive());
          if (now() != own) ++wrong;
          wait_somehow(round + pair, m);
          if (now() != own) ++wrong;
          all.go([&, own] {
            if (now() != at_the_start) ++wrong_at_the_start;
            set(own);
          });
        }
      });
    }
  }
  all.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(wrong_at_the_start, 0);
  EXPECT_EQ(now(), at_the_start);
}

}  // namespace

GO_TEST(waits, leave_each_goroutine_its_control_words) {
  for (const int procs : {1, 2, 4}) expect_waits_keep_control_words(procs);
}

GO_TEST(preemption, leaves_each_goroutine_its_control_words) {
  const processors one(1);
  preempt(kind_count, 64, [](const std::atomic<bool>& stop, int self) {
    set(kinds[self]);
    while (!stop) {
      compute_for(50us);
      EXPECT_EQ(now(), kinds[self]);
    }
    set(at_the_start);
  });
}
#endif
