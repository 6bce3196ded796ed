// SPEC.md, "Timers and contexts".
#include "rows.hpp"

#include <sley/sley.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr int sleeps_each = 10;

// The number of goroutine g's sleep in round r.
std::size_t index_of(int g, int r) {
  return static_cast<std::size_t>(std::int64_t{g} * sleeps_each + r);
}

// How long that sleep is: 1 to 50 ms.
nanoseconds sleep_length(int g, int r) {
  return std::chrono::microseconds(1000 + splitmix(index_of(g, r)) % 49001);
}

// The wall time if every sleep ended on time.
nanoseconds longest_sleeper(int goroutines) {
  nanoseconds longest{};
  for (int g = 0; g < goroutines; ++g) {
    nanoseconds total{};
    for (int r = 0; r < sleeps_each; ++r) total += sleep_length(g, r);
    longest = std::max(longest, total);
  }
  return longest;
}

// How late do sleeps end when a hundred thousand goroutines sleep at the same time?
outcome sleepers_100k(int n) {
  std::vector<nanoseconds> late(index_of(n, 0));
  const nanoseconds ideal = longest_sleeper(n);
  sley::chan<void> gate;
  sley::wait_group ready, wg;
  ready.add(n);
  wg.add(n);
  for (int g = 0; g < n; ++g) {
    sley::go([&, g] {
      ready.done();
      gate.receive();
      for (int r = 0; r < sleeps_each; ++r) {
        const nanoseconds d = sleep_length(g, r);
        const clock::time_point start = clock::now();
        sley::this_goroutine::sleep_for(d);
        late[index_of(g, r)] = clock::now() - start - d;
      }
      wg.done();
    });
  }
  ready.wait();
  outcome o = timed(std::int64_t{n} * sleeps_each, [&] {
    gate.close();
    wg.wait();
  });
  const auto early = std::ranges::count_if(late, [](nanoseconds l) { return l < nanoseconds{}; });
  o.add("ideal_ms=%.2f excess_ms=%.2f early=%lld", milliseconds(ideal),
        milliseconds(o.wall - ideal), static_cast<long long>(early));
  o.add_latencies("late_", late);
  return o;
}

// What does a timer cost that never fires: made and stopped, with a function and with a channel,
// and armed again?
outcome timer_reset_stop(int n) {
  auto nothing = [] {};
  outcome o = timed(n, [&] {
    for (int i = 0; i < n; ++i) {
      check(sley::after_func(hours(1), nothing).stop(), "timer fired");
    }
  });
  const int k = std::max(1, n / 2);
  const outcome channel_timer = timed(k, [&] {
    for (int i = 0; i < k; ++i) check(sley::timer(hours(1)).stop(), "timer fired");
  });
  sley::timer armed = sley::after_func(hours(1), nothing);
  const outcome reset = timed(k, [&] {
    for (int i = 0; i < k; ++i) {
      check(armed.reset(hours(1) + minutes(i & 1)), "timer fired");
    }
  });
  armed.stop();
  o.add("chan_timer_ns=%.2f reset_ns=%.2f", ns_each(channel_timer.wall, k), ns_each(reset.wall, k));
  return o;
}

constexpr workload rows[] = {
    {"sleepers_100k", 100'000, 0, sleepers_100k},
    {"timer_reset_stop", 5'000'000, 100'000, timer_reset_stop},
};

}  // namespace

std::span<const workload> time_rows() { return rows; }

}  // namespace bench
