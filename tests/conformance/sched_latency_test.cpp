// debug::metrics(): how long goroutines wait to run, and how long they run.
//
// With schedsample=1 each switch is measured, so the numbers of waits and of runs follow from the
// number of switches exactly, and the times are between what the program has measured itself. That
// setting is read at the start of a process: the programs are children.
#include "support/child.hpp"
#include "support/exposition.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using sley::chan;
using sley::debug::histogram;
using sley::debug::metric;

namespace {

constexpr std::string_view wait_times = "sley_sched_latency_seconds";
constexpr std::string_view run_times = "sley_run_seconds";

const metric& find(const std::vector<metric>& all, std::string_view name) {
  const auto at = std::ranges::find(all, name, &metric::name);
  if (at == all.end()) std::abort();
  return *at;
}

std::uint64_t count_of(const histogram& h) {
  return std::accumulate(h.counts.begin(), h.counts.end(), std::uint64_t{0});
}

// How many values are in ranges that end above this one.
std::uint64_t count_above(const histogram& h, std::chrono::nanoseconds least) {
  const double seconds = std::chrono::duration<double>(least).count();
  const auto first = std::ranges::upper_bound(h.bounds, seconds) - h.bounds.begin();
  return std::accumulate(h.counts.begin() + first, h.counts.end(), std::uint64_t{0});
}

struct measured {
  histogram waits;
  histogram runs;
  double switches;
  double retakes;  // a thread that gets no CPU for a while looks like one that is asleep
};

measured read() {
  const std::vector<metric> all = sley::debug::metrics();
  return {find(all, wait_times).distribution, find(all, run_times).distribution,
          find(all, "sley_switches_total").value, find(all, "sley_retakes_total").value};
}

measured operator-(measured more, const measured& less) {
  const auto subtract = [](histogram& from, const histogram& h) {
    for (std::size_t i = 0; i < h.counts.size(); ++i) from.counts[i] -= h.counts[i];
    from.sum -= h.sum;
  };
  subtract(more.waits, less.waits);
  subtract(more.runs, less.runs);
  more.switches -= less.switches;
  more.retakes -= less.retakes;
  return more;
}

// Everything that makes a goroutine leave its processor and come back.
void use_all_ways() {
  sley::wait_group group;
  const chan<int> values;
  const chan<int> back(3);
  sley::mutex lock;
  for (int i = 0; i < 8; ++i) {
    group.go([&] {
      for (int k = 0; k < 50; ++k) back.send(*values.receive());
    });
    group.go([&] {
      for (int k = 0; k < 50; ++k) {
        values.send(k);
        back.receive();
      }
    });
    group.go([&] {
      for (int k = 0; k < 50; ++k) {
        const std::lock_guard guard(lock);
        sley::this_goroutine::yield();
      }
    });
    group.go([] { sley_test::compute_for(2ms); });
    group.go([] { sley::this_goroutine::sleep_for(1ms); });
    group.go([] { sley::blocking([] { sley_test::sleep_in_the_kernel(1ms); }); });
    group.go([] { sley_test::sleep_in_the_kernel(1ms); });
    group.go([] {
      sley::this_goroutine::lock_os_thread();
      for (int k = 0; k < 5; ++k) sley::this_goroutine::yield();
      sley::this_goroutine::unlock_os_thread();
    });
    group.go([] {
      sley::this_goroutine::lock_os_thread();
      sley::this_goroutine::sleep_for(100us);  // and the thread ends
    });
    group.go([] { sley::this_goroutine::exit(); });
  }
  std::thread outside([&group] {
    for (int i = 0; i < 20; ++i) group.go([] { sley::this_goroutine::yield(); });
  });
  sley::blocking([&outside] { outside.join(); });
  group.wait();
}

}  // namespace

// The first run of each goroutine that a thread has started is not measured, nor is that of the
// main goroutine: 20 for each call, and one.
CHILD_MAIN(measures_each_switch) {
  return sley::run([] {
    const auto begin = std::chrono::steady_clock::now();
    constexpr int calls = 5;
    for (int i = 0; i < calls; ++i) use_all_ways();
    const measured all = read();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin + 1s;
    const int procs = sley::runtime::max_procs();
    const auto waits = static_cast<double>(count_of(all.waits));
    const auto runs = static_cast<double>(count_of(all.runs));
    EXPECT_NEAR(waits, all.switches - 1 - calls * 20, procs) << all.switches << " switches";
    EXPECT_NEAR(runs, all.switches, procs);
    EXPECT_LE(all.runs.sum, elapsed.count() * procs);
    return sley_test::verdict();
  });
}

// One goroutine is runnable while the other computes. The bounds are by the program's own
// clock, so they hold however busy the machine is.
CHILD_MAIN(waits_for_a_known_time) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    sley::this_goroutine::yield();
    constexpr int times = 20;
    const measured before = read();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      sley::go([] {});
      sley_test::compute_for(2ms);
      sley::this_goroutine::yield();
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    const measured more = read() - before;
    const double sure = times - more.retakes;
    EXPECT_GE(static_cast<double>(count_above(more.waits, 1ms)), sure);
    EXPECT_GE(static_cast<double>(count_above(more.runs, 1ms)), sure);
    EXPECT_GE(more.waits.sum, sure * 0.00199);
    EXPECT_LE(more.waits.sum, elapsed.count() * 2) << "no more than two were there";
    EXPECT_GE(more.runs.sum, sure * 0.00199);
    EXPECT_LE(more.runs.sum, elapsed.count() + 1) << "the first one has begun before";
    return sley_test::verdict();
  });
}

// Goroutines that compute are preempted, and wait for each other's slices.
CHILD_MAIN(waits_for_a_slice) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    sley::wait_group group;
    for (int i = 0; i < 2; ++i) group.go([] { sley_test::compute_for(50ms); });
    group.wait();
    const measured all = read();
    EXPECT_GE(static_cast<double>(count_above(all.waits, 500us)) + all.retakes, 1);
    return sley_test::verdict();
  });
}

// What alternates does not escape the sample: of two goroutines that take turns, one computes.
CHILD_MAIN(samples_by_chance) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    const chan<void> there;
    const chan<void> back;
    constexpr int rounds = 4000;
    const measured before = read();
    sley::go([=] {
      for (int i = 0; i < rounds; ++i) {
        there.receive();
        sley_test::compute_for(100us);
        back.send();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      there.send();
      back.receive();
    }
    const measured more = read() - before;
    const auto runs = static_cast<double>(count_of(more.runs));
    EXPECT_NEAR(runs, more.switches / 16, more.switches / 64) << more.switches << " switches";
    EXPECT_NEAR(static_cast<double>(count_of(more.waits)), runs, runs / 2);
    const auto computed = static_cast<double>(count_above(more.runs, 100us));
    EXPECT_GE(computed, runs / 4);
    EXPECT_LE(computed, runs * 3 / 4);
    return sley_test::verdict();
  });
}

namespace {

void expect_good(const char* name, const char* settings) {
  // Chaos, where it is built in, would end slices by chance.
  const auto child = sley_test::run_child(name, {{"SLEYDEBUG", settings}, {"SLEY_SEED", "0"}});
  EXPECT_EQ(child.status, 7) << child;
}

}  // namespace

TEST(sched_latency, each_switch_is_one_wait_and_one_run) {
  expect_good("measures_each_switch", "schedsample=1");
}

TEST(sched_latency, is_the_time_for_which_another_goroutine_computed) {
  expect_good("waits_for_a_known_time", "schedsample=1,asyncpreemptoff=1");
}

TEST(sched_latency, has_the_slices_of_others) {
  expect_good("waits_for_a_slice", "schedsample=1,slice=1");
}

TEST(sched_latency, is_of_a_sample_by_chance) {
  expect_good("samples_by_chance", "schedsample=16");
}

GO_TEST(sched_latency, has_the_same_values_as_text) {
  for (int i = 0; i < 10'000; ++i) sley::this_goroutine::yield();
  const std::vector<metric> all = sley::debug::metrics();
  const auto text = sley_test::parse_exposition(sley::debug::metrics_text(all));
  for (const std::string_view name : {wait_times, run_times}) {
    const histogram& h = find(all, name).distribution;
    const std::string stem(name);
    EXPECT_EQ(text.value(stem + "_count"), static_cast<double>(count_of(h)));
    EXPECT_EQ(text.value(stem + "_sum"), h.sum);
    EXPECT_EQ(text.value(stem + "_bucket", {{"le", "1e-07"}}), static_cast<double>(h.counts[0]));
    EXPECT_EQ(h.bounds.front(), 1e-7);
    EXPECT_EQ(h.bounds.back(), 10);
  }
}
