// Code that never calls the library and code that blocks its thread unannounced, all at once, for
// SLEY_STRESS_SECONDS (5; a full run is 60): none of them stalls the others. With one processor a
// goroutine that wants to run every millisecond does so within three slices, and goroutines that
// compute get equal shares. The figures are printed, and judged if the machine has nothing else to
// do.
#include "support/harness.hpp"
#include "support/machine_load.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include <unistd.h>

using sley::runtime::max_procs;
using sley::runtime::read_stats;
using sley_test::processors;
using sley_test::stress_duration;
using sley_test::under_chaos;
using sley_test::under_sanitizer;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

constexpr nanoseconds slice = 10ms;  // the default

nanoseconds cpu_time_of_thread() {
  timespec t = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

double milliseconds(nanoseconds d) { return std::chrono::duration<double, std::milli>(d).count(); }

// --- what the goroutines do ----------------------------------------------------------------------

std::atomic<std::uint64_t> sink{0};

void compute(int steps) {
  const std::uint64_t x = sink.load(std::memory_order_relaxed) + 1;
  sink.store(sley_test::xorshift(x, steps), std::memory_order_relaxed);
}

void allocate() {
  std::unique_ptr<char[]> blocks[32];
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t bytes = 16 + 48 * i;
    blocks[i % 32].reset(new char[bytes]);
    std::memset(blocks[i % 32].get(), 1, bytes);
  }
}

void match(const std::string& text) {
  const std::regex pattern("([a-z]+)([0-9]+)@(host|guest)\\.org");
  const std::sregex_iterator begin(text.begin(), text.end(), pattern);
  EXPECT_EQ(std::distance(begin, std::sregex_iterator()), 20);
}

void sort(std::vector<int> values) {
  std::qsort(values.data(), values.size(), sizeof values[0], [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

void print(std::FILE* to) {
  for (int i = 0; i < 50; ++i) std::fprintf(to, "%d %.6f %s\n", i, i / 7.0, "text");
}

void fight_for(std::mutex& mutex) {
  {
    const std::lock_guard guard(mutex);
    compute(50'000);
  }
  compute(50'000);
}

// --- the goroutines ------------------------------------------------------------------------------

enum class kind {
  equal,  // as all others of this kind: computes, and never waits
  other,  // computes, and waits for others
  sleeper
};

struct figures {
  const char* name;
  kind what;
  std::uint64_t laps = 0;
  nanoseconds cpu{0};
};

class load {
 public:
  load() {
    for (int i = 0; i < 20; ++i) text_ += "user" + std::to_string(i) + "@host.org and so on; ";
    sley_test::random_source random(1);
    for (int i = 0; i < 500; ++i) numbers_.push_back(random.index(1'000'000));
    for (int i = 0; i < 3; ++i) start("arithmetic", kind::equal, [] { compute(10'000); });
    start("malloc", kind::equal, allocate);
    start("regex", kind::equal, [this] { match(text_); });
    start("qsort", kind::equal, [this] { sort(numbers_); });
    start("printf", kind::equal, [this] { print(null_); });
    for (int i = 0; i < 2; ++i) start("std::mutex", kind::other, [this] { fight_for(mutex_); });
    start("usleep", kind::sleeper, [] { ::usleep(2000); });
    start("usleep, yield", kind::sleeper, [] {
      ::usleep(2000);
      sley::this_goroutine::yield();
    });
  }

  void stop() {
    stop_ = true;
    group_.wait();
    std::fclose(null_);
  }

  const std::deque<figures>& all() const { return all_; }

 private:
  template <class Body>
  void start(const char* name, kind what, Body body) {
    figures& mine = all_.emplace_back(figures{name, what});
    group_.add(1);
    sley::go(sley::go_options{.name = name, .stack_size = 1 << 20}, [this, &mine, body] {
      // A goroutine that never calls the library stays on its thread, and has it to itself
      // meanwhile.
      const nanoseconds before = cpu_time_of_thread();
      for (; !stop_; ++mine.laps) body();
      mine.cpu = cpu_time_of_thread() - before;
      group_.done();
    });
  }

  std::string text_;
  std::vector<int> numbers_;
  std::FILE* null_ = std::fopen("/dev/null", "w");
  std::mutex mutex_;
  std::atomic<bool> stop_{false};
  std::deque<figures> all_;
  sley::wait_group group_;
};

// --- the claims ----------------------------------------------------------------------------------

// How late each of the calling goroutine's sleeps of a millisecond ended, in order of size.
std::vector<nanoseconds> tick_for(nanoseconds time) {
  std::vector<nanoseconds> late;
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
    const auto start = steady_clock::now();
    sley::this_goroutine::sleep_for(1ms);
    late.push_back(steady_clock::now() - start - 1ms);
  }
  std::sort(late.begin(), late.end());
  return late;
}

nanoseconds percentile(const std::vector<nanoseconds>& sorted, double p) {
  return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

// The distance of the largest from the smallest, as a part of the mean.
double spread(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) * static_cast<double>(values.size()) / sum;
}

// What spread to expect of seven sums of n slices each: 10 %, and more if n is small. One hog may
// have had a slice more than another at either end: 2/n. And slices differ: if one of them lasts up
// to a slice too long, whatever the reason, all excesses being as likely, then it deviates by
// 1/sqrt(12) = 0.29 slices, and the sum of n by 0.29 sqrt(n). The largest and the smallest of seven
// such sums are more than five deviations apart once in a hundred runs.
double bound_of_spread(double slices) {
  return std::max(0.10, 2 / slices + 5 * 0.29 / std::sqrt(slices));
}

void print_figures(const std::vector<nanoseconds>& late, const std::deque<figures>& all) {
  std::printf("%d processors: %zu ticks, late p50 %.1f, p99 %.1f, max %.1f ms\n", max_procs(),
              late.size(), milliseconds(percentile(late, 0.5)),
              milliseconds(percentile(late, 0.99)), milliseconds(late.back()));
  for (const figures& f : all) {
    std::printf("  %-14s %9llu laps", f.name, static_cast<unsigned long long>(f.laps));
    if (f.what != kind::sleeper) std::printf("  %9.1f ms", milliseconds(f.cpu));
    std::printf("\n");
  }
}

// Laps of the goroutines that do the very same, and CPU time of all that only compute.
void expect_equal_shares(const std::deque<figures>& all) {
  std::vector<double> laps;
  std::vector<double> cpu;
  double cpu_sum = 0;
  for (const figures& f : all) {
    if (f.what != kind::equal) continue;
    cpu.push_back(milliseconds(f.cpu));
    cpu_sum += cpu.back();
    if (std::strcmp(f.name, "arithmetic") == 0) laps.push_back(static_cast<double>(f.laps));
  }
  const double slices = cpu_sum / static_cast<double>(cpu.size()) / milliseconds(slice);
  const double bound = bound_of_spread(slices);
  std::printf("  %.0f slices each; spread %.1f %% of CPU time, %.1f %% of laps; bound %.1f %%\n",
              slices, 100 * spread(cpu), 100 * spread(laps), 100 * bound);
  EXPECT_LT(spread(cpu), bound);
  EXPECT_LT(spread(laps), bound);
}

// Times mean something only if the machine was there for this process. (A runtime that stalls
// leaves it idle, and is judged.)
bool can_judge_times(const sley_test::machine_load& machine) {
  const double others = machine.of_others();
  std::printf("  other processes have used %.0f %% of the machine\n", 100 * others);
  return !under_sanitizer && !under_chaos && others < 0.1;
}

void expect_progress_of_all(const std::deque<figures>& all) {
  for (const figures& f : all) EXPECT_GT(f.laps, 5u) << f.name;
}

}  // namespace

GO_TEST(nothing_stalls, with_one_processor_ticks_are_late_by_three_slices_and_shares_are_equal) {
  if (max_procs() != 1 && std::getenv("SLEY_MAXPROCS") != nullptr) {
    GTEST_SKIP() << "for the run with one processor";
  }
  const processors one(1);
  const auto before = read_stats();
  const sley_test::machine_load machine;
  load everything;
  const auto late = tick_for(stress_duration());
  everything.stop();
  const bool judges = can_judge_times(machine);
  const auto after = read_stats();
  print_figures(late, everything.all());
  std::printf("  %llu preemptions, %llu taken from sleepers\n",
              static_cast<unsigned long long>(after.preemptions - before.preemptions),
              static_cast<unsigned long long>(after.retakes - before.retakes));
  EXPECT_GT(after.preemptions, before.preemptions);
  EXPECT_GT(after.retakes, before.retakes);
  expect_progress_of_all(everything.all());
  if (!judges) return;
  EXPECT_LE(percentile(late, 0.99), 3 * slice);
  expect_equal_shares(everything.all());
}

GO_TEST(nothing_stalls, with_several_processors_every_goroutine_gets_on) {
  if (max_procs() == 1) GTEST_SKIP() << "for several processors";
  const sley_test::machine_load machine;
  load everything;
  const auto late = tick_for(stress_duration());
  everything.stop();
  const bool judges = can_judge_times(machine);
  print_figures(late, everything.all());
  expect_progress_of_all(everything.all());
  // With more processors than CPUs the kernel too decides which goroutine runs when.
  if (judges && max_procs() <= sley::runtime::num_cpu()) {
    EXPECT_LE(percentile(late, 0.99), 3 * slice);
  }
}
