// Workloads of all kinds at once, for as long as one likes. From a seed come the rounds: each is a
// number of processors, a few workloads with parameters of their own, the disturbances, and a time.
// After each round nothing may be left of it: no goroutine, no timer, no descriptor; threads and
// memory stay where they are. Some goroutines stay parked for many rounds.
//
//   soak --minutes M [--seed N] [--round K] [--only NAME]
//
// Only the workloads whose names begin with NAME take part. debug::leaks is asked beside the first
// lap of each, and in each round while they run. All of their goroutines end, so it names none.
//
// The same seed gives the same rounds (which of the workloads' steps meet is up to the machine).
// Ends with a table of the work done, and with status 0 only if all expectations were met.
#include "soak/soak.hpp"
#include "support/child.hpp"
#include "support/sleepers.hpp"
#include "support/thread_group.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using sley::runtime::read_stats;
using sley_test::eventually;
using sley_test::under_sanitizer;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace soak {
namespace {

bool has_failed() { return testing::Test::HasFailure(); }
unsigned long long number(std::uint64_t n) { return n; }

struct options {
  double minutes = 0;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> round;
  std::string only;
};

// --- a round -------------------------------------------------------------------------------------

// Where the laps of a workload are run.
enum class place : unsigned char { goroutine, locked_goroutine, foreign_thread };
constexpr const char* place_names[] = {"", " (locked)", " (foreign)"};

// How many laps of a workload there were, and how long the longest took.
struct lap_times {
  std::atomic<std::uint64_t> laps{0};
  std::atomic<std::int64_t> longest_ns{0};

  void add(nanoseconds time) {
    ++laps;
    count(tally::laps);
    std::int64_t longest = longest_ns;
    while (longest < time.count() && !longest_ns.compare_exchange_weak(longest, time.count())) {
    }
  }
};

struct part {
  const workload* work;
  lap_times* times;
  place where;
  std::uint64_t stream;
};

struct round_plan {
  std::uint64_t number;
  int processors;
  bool resizes;
  nanoseconds time;
  std::vector<part> parts;

  std::string to_string() const {
    std::string text = "round " + std::to_string(number) + ", " + std::to_string(processors) +
                       (resizes ? " processors at first:" : " processors:");
    for (const part& p : parts) {
      text += std::string(" ") + p.work->name + place_names[static_cast<int>(p.where)];
    }
    return text;
  }
};

place any_place(random_source& random) {
  switch (random.below(8)) {
    case 0: return place::foreign_thread;
    case 1: return place::locked_goroutine;
    default: return place::goroutine;
  }
}

void run_lap(const workload& work, lap_times& times, random_source& random) {
  const auto start = steady_clock::now();
  work.lap(random);
  times.add(steady_clock::now() - start);
}

void run_part(const part& p, steady_clock::time_point end) {
  random_source random(p.stream);
  do {
    run_lap(*p.work, *p.times, random);
  } while (steady_clock::now() < end && !has_failed());
}

// Another number of processors every few milliseconds.
void resize_until(steady_clock::time_point end, random_source random) {
  while (steady_clock::now() < end) {
    sley::runtime::set_max_procs(1 + random.index(most_processors));
    count(tally::processor_changes);
    sley::this_goroutine::sleep_for(random.below(10'000) * 1us);
  }
}

void run_parts(const round_plan& plan) {
  const auto end = steady_clock::now() + plan.time;
  sley::runtime::set_max_procs(plan.processors);
  sley_test::thread_group threads;
  sley::wait_group group;
  for (const part& p : plan.parts) {
    switch (p.where) {
      case place::goroutine: group.go([&p, end] { run_part(p, end); }); break;
      case place::locked_goroutine:
        group.go([&p, end] {
          const sley::os_thread_lock lock;
          run_part(p, end);
        });
        break;
      case place::foreign_thread:
        count(tally::foreign_threads);
        threads.go([&p, end] { run_part(p, end); });
    }
  }
  group.go([&plan] {
    random_source random(plan.number);
    sley::this_goroutine::sleep_for(plan.time * random.below(1000) / 1000);
    expect_no_leaks();
  });
  if (plan.resizes) resize_until(end, random_source(plan.number));
  group.wait();
  threads.wait();
}

// No goroutine has anything to do for a while. A foreign thread ends that.
void rest(random_source& random) {
  const sley::chan<void> over;
  sley_test::thread_group threads;
  threads.go([over, time = random.below(300) * 1ms] {
    std::this_thread::sleep_for(time);
    over.send();
  });
  count(tally::foreign_threads);
  EXPECT_TRUE(over.receive());
}

// --- goroutines that stay parked for many rounds -------------------------------------------------

// Much of the memory of their stacks is given back meanwhile, and must be as it was.
class guests {
 public:
  void next_round(random_source& random) {
    if (all_ == nullptr) {
      if (!random.one_in(4)) return;
      number_ = 1 + random.index(sley_test::rounds(1000));
      all_ = std::make_unique<sley_test::sleepers>(number_);
      rounds_left_ = random.below(20);
    } else if (rounds_left_-- == 0) {
      leave();
    }
  }
  void leave() {
    if (all_ == nullptr) return;
    all_->wake();
    all_ = nullptr;
    count(tally::goroutines, static_cast<std::uint64_t>(std::exchange(number_, 0)));
  }
  std::size_t number() const { return static_cast<std::size_t>(number_); }

 private:
  std::unique_ptr<sley_test::sleepers> all_;
  int number_ = 0;
  std::uint64_t rounds_left_ = 0;
};

// --- the rounds ----------------------------------------------------------------------------------

class long_run {
 public:
  explicit long_run(const options& o) : options_(o) {
    for (const workload& w : workloads()) {
      if (std::string_view(w.name).starts_with(o.only)) workloads_.push_back(w);
    }
    times_ = std::vector<lap_times>(workloads_.size());
  }

  bool has_workloads() const { return !workloads_.empty(); }

  void run() {
    const std::chrono::duration<double, std::ratio<60>> time(options_.minutes);
    const auto end = sley::detail::later(start_, time);
    run_each_once();
    resources_.emplace();
    for (std::uint64_t n = options_.round.value_or(1); steady_clock::now() < end; ++n) {
      if (has_failed()) break;
      run_round(n);
      if (options_.round) --n;  // that one, again and again
    }
    guests_.leave();
    if (!has_failed()) resources_->expect_flat();
  }

  void print_table() const {
    const auto now = read_stats();
    std::printf("\n%-50s %15s\n", "in all", "");
    print_row("rounds", rounds_);
    for (int i = 0; i < static_cast<int>(tally::count_of_tallies); ++i) {
      print_row(name_of(static_cast<tally>(i)), counted(static_cast<tally>(i)));
    }
    print_row("goroutines started", now.spawned - before_.spawned);
    print_row("parks", now.parks - before_.parks);
    print_row("switches", now.switches - before_.switches);
    print_row("steals", now.steals - before_.steals);
    print_row("hand-offs", now.hand_offs - before_.hand_offs);
    print_row("retakes", now.retakes - before_.retakes);
    print_row("preemptions", now.preemptions - before_.preemptions);
    print_row("threads woken", now.thread_wakes - before_.thread_wakes);
    print_row("stacks made", now.stacks - before_.stacks);
    std::printf("\n%-24s %10s %22s\n", "", "laps", "the longest, seconds");
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      const std::chrono::duration<double> longest = nanoseconds(times_[i].longest_ns);
      std::printf("%-24s %10llu %22.3f\n", workloads_[i].name, number(times_[i].laps),
                  longest.count());
    }
    if (resources_) std::printf("at the end: %s\n", resources_->to_string().c_str());
  }

 private:
  // Runs once so that no workload is left out, and all that the process keeps from its first use is
  // there.
  void run_each_once() {
    for (const workload& w : workloads_) {
      set_plan(std::string("one lap of ") + w.name);
      random_source random(0);
      sley::wait_group searching;
      searching.go(&expect_no_leaks);
      run_lap(w, times_of(w), random);
      searching.wait();
      if (has_failed()) break;
    }
    expect_nothing_left();
  }

  // Depends on the seed and the round's number alone.
  round_plan make_plan(std::uint64_t number) {
    random_source random(number + 1);
    round_plan plan{.number = number,
                    .processors = 1 + random.index(4),
                    .resizes = random.one_in(2),
                    .time = (500 + random.below(1500)) * 1ms,
                    .parts = {}};
    const auto parts = 3 + random.below(5);
    for (std::uint64_t i = 0; i < parts; ++i) {
      const workload& w = workloads_[random.below(workloads_.size())];
      plan.parts.push_back({&w, &times_of(w), any_place(random), random()});
    }
    return plan;
  }

  lap_times& times_of(const workload& w) {
    return times_[static_cast<std::size_t>(&w - workloads_.data())];
  }

  void run_round(std::uint64_t n) {
    const round_plan plan = make_plan(n);
    set_plan(plan.to_string());
    random_source random(~n);
    guests_.next_round(random);
    run_parts(plan);
    expect_nothing_left();
    if (random.one_in(4)) rest(random);
    resources_->look();
    ++rounds_;
    if (has_failed()) std::printf("FAILED in %s\n", plan.to_string().c_str());
    print_progress();
  }

  void expect_nothing_left() const {
    const auto goroutines = before_.goroutines + guests_.number();
    EXPECT_TRUE(eventually([&] { return read_stats().goroutines <= goroutines; }))
        << read_stats().goroutines << " goroutines instead of " << goroutines;
    EXPECT_TRUE(eventually([&] { return read_stats().timers <= before_.timers; }))
        << read_stats().timers << " timers instead of " << before_.timers;
  }

  void print_progress() {
    if (steady_clock::now() < next_line_) return;
    next_line_ = steady_clock::now() + 10s;
    const auto now = read_stats();
    const std::chrono::duration<double> time = steady_clock::now() - start_;
    std::printf(
        "%6.0f s  round %llu, %llu laps, %llu values, %llu goroutines, %llu parks, %llu "
        "preemptions; %s\n",
        time.count(), number(rounds_), number(counted(tally::laps)),
        number(counted(tally::channel_values)), number(now.spawned), number(now.parks),
        number(now.preemptions), resources_->to_string().c_str());
    std::fflush(stdout);
  }

  static void print_row(const char* what, std::uint64_t n) {
    std::printf("%-50s %15llu\n", what, number(n));
  }

  const options options_;
  std::vector<workload> workloads_;
  std::vector<lap_times> times_;  // of each
  const steady_clock::time_point start_ = steady_clock::now();
  steady_clock::time_point next_line_ = start_;
  const sley::runtime::stats before_ = read_stats();
  std::optional<resources> resources_;
  guests guests_;
  std::uint64_t rounds_ = 0;
};

std::vector<workload>& known() {
  static std::vector<workload> all;
  return all;
}

// --- the command line ----------------------------------------------------------------------------

bool parse(int argc, char** argv, options& o) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--minutes") {
      o.minutes = std::strtod(value, nullptr);
    } else if (name == "--seed") {
      o.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--round") {
      o.round = std::strtoull(value, nullptr, 10);
    } else if (name == "--only") {
      o.only = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && o.minutes > 0;
}

int run_all(const options& o) {
  if (o.seed) ::setenv("SLEY_TEST_SEED", std::to_string(*o.seed).c_str(), 1);
  std::printf("seed %llu\n", number(sley_test::seed()));
  std::fflush(stdout);
  start_watchdog();
  return sley::run([&o] {
    long_run all(o);
    if (!all.has_workloads()) {
      std::fprintf(stderr, "soak: there is no workload %s\n", o.only.c_str());
      return 2;
    }
    all.run();
    all.print_table();
    std::printf("%s; again: soak --minutes %g --seed %llu\n", has_failed() ? "FAILED" : "all held",
                o.minutes, number(sley_test::seed()));
    return has_failed() ? 1 : 0;
  });
}

}  // namespace

bool register_workload(workload w) {
  known().push_back(w);
  return true;
}

std::vector<workload> workloads() {
  auto all = known();
  std::sort(all.begin(), all.end(),
            [](const workload& a, const workload& b) { return std::strcmp(a.name, b.name) < 0; });
  return all;
}

}  // namespace soak

int main(int argc, char** argv) {
  int status = 0;
  if (sley_test::is_child(argc, argv, status)) return status;
  soak::options o;
  if (!soak::parse(argc, argv, o)) {
    std::fprintf(stderr, "usage: soak --minutes M [--seed N] [--round K] [--only NAME]\n");
    return 2;
  }
  return soak::run_all(o);
}
