// Aim: a periodic timer whose next time cannot be represented fires once and delays no other.
// Method: I11 (TestOverflowPeriodRuntimeTimer), on the runtime's own timers: a ticker's period
// would have to pass first.

#include "platform/decisions.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/source/timers.hpp"

#include "support/harness.hpp"

#include <atomic>
#include <cstdint>

using namespace std::chrono_literals;

namespace {

struct counting_timer : sley::rt::timer {
  std::atomic<int> fired{0};
};

sley::rt::goroutine* count(sley::rt::timer* t, std::int64_t) noexcept {
  ++static_cast<counting_timer*>(t)->fired;
  return nullptr;
}

GO_TEST(timer, a_period_that_overflows_fires_once_and_delays_no_other_timer) {
  counting_timer t;
  t.fire = &count;
  t.period_ns = INT64_MAX;
  {
    const sley::rt::inside inside;
    ASSERT_TRUE(sley::rt::add_timer(&t, sley::platform::now_ns()));
  }
  EXPECT_TRUE(sley::after(5ms).receive().has_value());
  EXPECT_TRUE(sley_test::eventually([&] { return t.fired == 1; }));
  sley::this_goroutine::sleep_for(1ms);
  EXPECT_EQ(t.fired, 1);
  const sley::rt::inside inside;
  EXPECT_TRUE(sley::rt::remove_timer(&t));
}

}  // namespace
