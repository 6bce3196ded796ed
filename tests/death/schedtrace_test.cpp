// SLEYDEBUG=schedtrace=N prints a line about the scheduler every N ms, scheddetail=1 the state of
// every P, M and G below it, on stderr and in Go's format. A setting that makes no sense is one
// line, and nothing else changes.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using sley::chan;
using sley_test::child_result;
using sley_test::lines_of;
using sley_test::occurrences;
using sley_test::run_child;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

int matches(const std::vector<std::string>& lines, const std::string& pattern) {
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return sley_test::matches(line, pattern);
  }));
}

// The numbers between the brackets that follow a text.
std::vector<long> numbers_after(const std::string& line, const std::string& text) {
  const std::size_t start = line.find(text + "[ ");
  if (start == std::string::npos) return {};
  std::istringstream list(line.substr(start + text.size() + 2));
  return {std::istream_iterator<long>(list), {}};
}

long number_after(const std::string& line, const std::string& text) {
  const std::size_t start = line.find(text);
  return start == std::string::npos ? -1 : std::atol(line.c_str() + start + text.size());
}

// With what follows the head of a line.
std::string head(std::string_view rest) {
  std::string pattern =
      "SCHED ([0-9]+)ms: gomaxprocs=[0-9]+ idleprocs=[0-9]+ threads=[0-9]+ "
      "spinningthreads=[0-9]+ needspinning=[01] idlethreads=[0-9]+ runqueue=[0-9]+";
  pattern += rest;
  return pattern;
}
std::string summary_line() { return head(" \\[ ([0-9]+ )+\\] schedticks=\\[ ([0-9]+ )+\\]"); }
std::string detail_line() {
  return head(
      " gcwaiting=(true|false) nmidlelocked=[0-9]+ stopwait=[0-9]+ sysmonwait=(true|false)");
}
std::string p_line() {
  return "  P[0-9]+: status=[0-9]+ schedtick=[0-9]+ syscalltick=[0-9]+ m=([0-9]+|nil) "
         "runqsize=[0-9]+ gfreecnt=[0-9]+ timerslen=[0-9]+";
}
std::string m_line() {
  return "  M[0-9]+: p=([0-9]+|nil) curg=([0-9]+|nil) mallocing=-?[0-9]+ throwing=-?[0-9]+ "
         "preemptoff=[^ ]* locks=[0-9]+ dying=-?[0-9]+ spinning=(true|false) "
         "blocked=(true|false) lockedg=([0-9]+|nil)";
}
std::string g_line() {
  return "  G[0-9]+: status=[0-9]+\\([^=]*\\) m=([0-9]+|nil) lockedm=([0-9]+|nil)";
}

// For how long a child keeps each state, that it appears in the trace.
std::chrono::milliseconds hold() {
  return std::chrono::milliseconds(std::atol(std::getenv("SLEY_TEST_HOLD_MS")));
}

// The child with a trace each 10 ms. Its states last longer if it has fewer than five, or one of
// these lines is missing, as on a machine that has other things to do.
child_result run_traced(const char* name, const std::string& settings, const char* procs,
                        const std::vector<std::string>& wanted) {
  child_result child;
  for (const char* hold_ms : {"100", "1000", "10000"}) {
    child = run_child(name, {{"SLEYDEBUG", "schedtrace=10" + settings},
                             {"SLEY_MAXPROCS", procs},
                             {"SLEY_TEST_HOLD_MS", hold_ms}});
    const auto lines = lines_of(child.err);
    const auto is_there = [&lines](const std::string& line) { return matches(lines, line) > 0; };
    if (matches(lines, "SCHED .*") >= 5 && std::ranges::all_of(wanted, is_there)) return child;
  }
  ADD_FAILURE() << "a line is missing in the trace: " << child;
  return child;
}

// Lines of the next child: while it works, and after the number of processors has changed.
const std::vector<std::string> of_work_and_sleep = {"SCHED [0-9]+ms: gomaxprocs=4 .*",
                                                    "SCHED [0-9]+ms: gomaxprocs=2 .*"};

}  // namespace

// Busy, idle, and with another number of processors.
CHILD_MAIN(works_and_sleeps) {
  return sley::run([] {
    const auto busy_until = std::chrono::steady_clock::now() + hold();
    while (std::chrono::steady_clock::now() < busy_until) {
      sley::wait_group group;
      for (int i = 0; i < 20; ++i) group.go([] { this_goroutine::yield(); });
      group.wait();
    }
    this_goroutine::sleep_for(hold());
    sley::runtime::set_max_procs(2);
    this_goroutine::sleep_for(hold());
    return 7;
  });
}

TEST(schedtrace, prints_a_line_of_gos_format_at_each_interval) {
  const auto child = run_traced("works_and_sleeps", "", "4", of_work_and_sleep);
  EXPECT_EQ(child.status, 7) << child;
  const auto lines = lines_of(child.err);
  ASSERT_GE(lines.size(), 5u) << child;
  EXPECT_EQ(matches(lines, summary_line()), static_cast<int>(lines.size())) << child;
  EXPECT_EQ(lines[0].rfind("SCHED 0ms: gomaxprocs=4 ", 0), 0u) << "the first: " << child;
  long before_ms = -10;
  for (const std::string& line : lines) {
    const long ms = number_after(line, "SCHED ");
    EXPECT_GE(ms, before_ms + 9) << line;  // whole milliseconds of two readings
    before_ms = ms;
  }
}

TEST(schedtrace, has_two_figures_for_each_processor) {
  const auto child = run_traced("works_and_sleeps", "", "4", of_work_and_sleep);
  std::vector<long> ticks_before;
  bool ticked = false;
  long last_procs = 0;
  for (const std::string& line : lines_of(child.err)) {
    const long procs = number_after(line, "gomaxprocs=");
    const auto ticks = numbers_after(line, "schedticks=");
    EXPECT_EQ(numbers_after(line, " ").size(), static_cast<std::size_t>(procs)) << line;
    EXPECT_EQ(ticks.size(), static_cast<std::size_t>(procs)) << line;
    for (std::size_t i = 0; i < std::min(ticks.size(), ticks_before.size()); ++i) {
      EXPECT_GE(ticks[i], ticks_before[i]) << line;
      ticked = ticked || ticks[i] > ticks_before[i];
    }
    EXPECT_LE(number_after(line, "idleprocs="), procs) << line;
    EXPECT_LE(number_after(line, "idlethreads="), number_after(line, " threads=")) << line;
    ticks_before = ticks;
    last_procs = procs;
  }
  EXPECT_TRUE(ticked) << child;
  EXPECT_EQ(last_procs, 2) << "after set_max_procs: " << child;
}

// One goroutine of each kind, for as long as some lines take.
CHILD_MAIN(shows_goroutines) {
  return sley::run([] {
    const chan<void> over;
    std::atomic<bool> stop{false};
    sley::wait_group group;
    group.go([=] { over.receive(); });
    group.go([=] {
      const sley::os_thread_lock lock;
      over.receive();
    });
    group.go([] { sley::blocking([] { std::this_thread::sleep_for(hold()); }); });
    group.go([&stop] {
      while (!stop) {
      }
    });
    this_goroutine::sleep_for(hold());
    stop = true;
    over.close();
    group.wait();
    return 7;
  });
}

TEST(schedtrace, in_detail_shows_every_p_m_and_g) {
  const auto child =
      run_traced("shows_goroutines", ",scheddetail=1", "3",
                 {"  G1: status=[0-9]+\\(sleep\\) m=.*",
                  "  G[0-9]+: status=[0-9]+\\(chan receive\\) .* lockedm=nil",
                  "  G[0-9]+: status=[0-9]+\\(chan receive\\) .* lockedm=[0-9]+",
                  "  M[0-9]+: .* lockedg=[0-9]+", "  M[0-9]+: p=[0-9]+ curg=[0-9]+ .*"});
  EXPECT_EQ(child.status, 7) << child;
  const auto lines = lines_of(child.err);
  const int times = matches(lines, detail_line());
  EXPECT_GE(times, 3) << child;
  EXPECT_EQ(matches(lines, p_line()), 3 * times) << child;
  // There is more and less of them from line to line, but at one time all of these.
  EXPECT_GE(matches(lines, m_line()), 3) << child;
  EXPECT_GE(matches(lines, g_line()), 5) << child;
  EXPECT_EQ(matches(lines, detail_line() + "|" + p_line() + "|" + m_line() + "|" + g_line()),
            static_cast<int>(lines.size()))
      << child;
  EXPECT_EQ(lines.empty() ? "" : lines[0].substr(0, 11), "SCHED 0ms: ") << child;
}

// The state comes as a whole, though the lines are many. (The first may be so early that there is
// neither an M nor a G yet.)
TEST(schedtrace, in_detail_comes_in_order) {
  const auto child = run_traced("shows_goroutines", ",scheddetail=1", "3", {});
  std::string kinds;
  for (const std::string& line : lines_of(child.err)) {
    kinds += line[0] == 'S' ? 'S' : line.size() > 2 ? line[2] : '?';
  }
  EXPECT_TRUE(sley_test::matches(kinds, "(SPPPM*G*)+")) << kinds << "\n" << child;
}

TEST(schedtrace, is_silent_unless_asked_for) {
  for (const char* setting : {"", "schedtrace=0", "scheddetail=1", "scheddetail=0"}) {
    const auto child =
        run_child("works_and_sleeps", {{"SLEYDEBUG", setting}, {"SLEY_TEST_HOLD_MS", "100"}});
    EXPECT_EQ(child.status, 7) << setting << ": " << child;
    EXPECT_EQ(child.err, "") << setting << ": " << child;
    EXPECT_EQ(child.out, "") << setting << ": " << child;
  }
}

TEST(schedtrace, a_setting_that_makes_no_sense_is_one_line) {
  std::vector<std::thread> threads;
  for (const char* setting :
       {"schedtrace=abc", "schedtrace=-1", "schedtrace", "schedtrace=", "schedtrace=1x",
        "nonsense=1", "nonsense", "scheddetail=maybe", "schedtrace=99999999999999999999"}) {
    threads.emplace_back([setting] {
      const auto child =
          run_child("works_and_sleeps", {{"SLEYDEBUG", setting}, {"SLEY_TEST_HOLD_MS", "100"}});
      EXPECT_EQ(child.status, 7) << setting << ": " << child;
      EXPECT_EQ(occurrences(child.err, "SLEYDEBUG"), 1) << setting << ": " << child;
      EXPECT_EQ(occurrences(child.err, "\n"), 1) << setting << ": " << child;
    });
  }
  for (auto& thread : threads) thread.join();
}
