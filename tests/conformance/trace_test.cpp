// Aim: the tracer writes exactly the events that happened: every goroutine's runs, one at a time on
// each processor, with the reason of their ends. Method: programs whose runs are known; the file is
// read back line by line.
#include "support/burn.hpp"
#include "support/chrome_trace.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace trace = sley::debug::trace;
using sley_test::expect_one_at_a_time;
using sley_test::runs_of;
using sley_test::trace_path;
using sley_test::traced_mark;
using sley_test::traced_run;
using namespace std::chrono_literals;

namespace {

bool has_end(const std::vector<traced_run>& all, const std::string& end) {
  return std::ranges::any_of(all, [&](const traced_run& r) { return r.end == end; });
}

void compute_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

GO_TEST(tracer, runs_are_there_with_their_ends) {
  const trace_path file;
  trace::start(file.path());
  const sley::chan<int> c;
  sley::wait_group all;
  all.add(2);
  sley::go({.name = "sends \"it\""}, [&] {
    for (int i = 0; i < 100; ++i) c.send(i);
    c.close();
    all.done();
  });
  sley::go({.name = "receives"}, [&] {
    for (const int i : c) EXPECT_GE(i, 0);
    sley::this_goroutine::sleep_for(1ms);
    sley::blocking([] { std::this_thread::sleep_for(5ms); });
    sley::this_goroutine::yield();
    all.done();
  });
  all.wait();
  // They end after they are done.
  EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
  trace::stop();

  const auto runs = file.runs();
  expect_one_at_a_time(runs);
  const auto receiving = runs_of(runs, "receives, goroutine ");
  EXPECT_TRUE(has_end(receiving, "sleep"));
  EXPECT_TRUE(has_end(receiving, "yielded"));
  EXPECT_TRUE(has_end(receiving, "ended"));
  EXPECT_TRUE(has_end(receiving, "chan receive") || has_end(runs_of(runs, "sends"), "chan send"));
  EXPECT_TRUE(has_end(runs_of(runs, "goroutine 1"), "sync.WaitGroup.Wait"));
  ASSERT_FALSE(receiving.empty());
  EXPECT_TRUE(file.text().ends_with("}\n"));
  EXPECT_TRUE(file.has_lost_none());
}

GO_TEST(tracer, each_goroutine_of_many_is_there) {
  const trace_path file;
  const int count = sley_test::rounds(500);
  trace::start(file.path());
  sley::wait_group all;
  for (int i = 0; i < count; ++i) {
    all.go([] { sley::this_goroutine::yield(); });
  }
  all.wait();
  trace::stop();
  const auto runs = file.runs();
  expect_one_at_a_time(runs);
  std::set<std::string> names;
  for (const traced_run& r : runs) names.insert(r.name);
  EXPECT_GE(names.size(), static_cast<std::size_t>(count) + 1) << "and the main goroutine";
}

namespace {

// By the library's own functions, which are in its headers.
[[gnu::noinline]] void starts_some_here(sley::wait_group& all) {
  sley::go({.name = "by go"}, [] {});
  all.go([] { sley::this_goroutine::set_name("by wait_group"); });
  sley::async([] { sley::this_goroutine::set_name("by async"); }).get();
}

}  // namespace

GO_TEST(tracer, the_place_of_a_start_is_the_programs) {
  const trace_path file;
  trace::start(file.path());
  sley::wait_group all;
  starts_some_here(all);
  all.wait();
  EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
  trace::stop();
  const auto runs = file.runs();
  const auto direct = runs_of(runs, "by go");
  ASSERT_FALSE(direct.empty());
  if (direct.front().started.find(':') == std::string::npos) GTEST_SKIP() << "no lines are known";
  EXPECT_NE(direct.front().started.find("starts_some_here"), std::string::npos)
      << direct.front().started;
  for (const traced_run& r : runs) {
    EXPECT_EQ(r.started.find("sley/detail/"), std::string::npos) << r.name << ": " << r.started;
    EXPECT_EQ(r.started.find("sley/go.hpp"), std::string::npos) << r.name << ": " << r.started;
  }
}

GO_TEST(tracer, the_file_is_utf8_whatever_the_names_are) {
  const trace_path file;
  trace::start(file.path());
  sley::wait_group all;
  const std::string names[] = {std::string(30, 'n') + "\xc3\xa4", "no \xff UTF-8 \xc3",
                               "\"quoted\" \\ \t\x01", "caf\xc3\xa9"};
  for (const std::string& name : names) {
    all.add(1);
    sley::go({.name = name}, [&all] { all.done(); });
  }
  all.wait();
  EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
  trace::stop();
  EXPECT_TRUE(sley_test::is_utf8(file.text())) << file.text();
  const auto runs = file.runs();
  EXPECT_FALSE(runs_of(runs, std::string(30, 'n') + ", goroutine").empty()) << "cut at a character";
  EXPECT_FALSE(runs_of(runs, "no \\\\xff UTF-8 \\\\xc3, goroutine").empty()) << "as dumps show it";
  EXPECT_FALSE(runs_of(runs, "caf\xc3\xa9, goroutine").empty());
}

// 40,000 switches, each with a wake, at full rate.
GO_TEST(tracer, a_pingpong_loses_nothing) {
  const trace_path file;
  const int rounds = sley_test::rounds(20'000);
  const sley::chan<int> there, back;
  trace::start(file.path());
  sley::go({.name = "pong"}, [&] {
    for (const int i : there) back.send(i);
    back.close();
  });
  for (int i = 0; i < rounds; ++i) {
    there.send(i);
    back.receive();
  }
  there.close();
  back.receive();
  trace::stop();
  EXPECT_TRUE(file.has_lost_none());
  const auto runs = file.runs();
  expect_one_at_a_time(runs);
  // Beside another processor it may go through more than one round in a run.
  EXPECT_GE(runs_of(runs, "pong").size(), static_cast<std::size_t>(rounds) / 10);
}

// On one processor every wake leads to a run of the goroutine that was woken, at the same place.
GO_TEST(tracer, an_arrow_leads_from_the_waker_to_the_run) {
  const trace_path file;
  const sley::chan<int> c;
  trace::start(file.path());
  sley::wait_group all;
  all.add(1);
  sley::go({.name = "woken"}, [&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(c.receive(), i);
    all.done();
  });
  for (int i = 0; i < 100; ++i) {
    sley::this_goroutine::yield();  // so that it waits
    c.send(i);
  }
  all.wait();
  trace::stop();
  const std::vector<traced_run> runs = file.runs();
  const std::vector<traced_run> woken = runs_of(runs, "woken, goroutine ");
  ASSERT_FALSE(woken.empty());
  const std::string id = woken[0].name.substr(std::string("woken, goroutine ").size());
  std::map<std::string, double> begun;
  std::size_t arrows = 0;
  const auto ends = file.marks("f");
  for (const traced_mark& begin : file.marks("s")) {
    if (begin.id != id) continue;
    const auto end = std::ranges::find_if(
        ends, [&](const traced_mark& m) { return m.id == id && m.us >= begin.us; });
    if (end == ends.end()) continue;  // the trace ended first
    ++arrows;
    EXPECT_TRUE(std::ranges::any_of(woken, [&](const traced_run& r) {
      return r.processor == end->processor && r.begin_us == end->us;
    })) << "an arrow ends where the goroutine's run begins";
    EXPECT_TRUE(std::ranges::any_of(runs, [&](const traced_run& r) {
      return r.processor == begin.processor && r.begin_us <= begin.us &&
             begin.us <= r.begin_us + r.length_us;
    })) << "an arrow begins in a run";
  }
  EXPECT_GE(arrows, 50u);
}

GO_TEST(tracer, the_program_notes_regions_tasks_and_logs) {
  const trace_path file;
  EXPECT_FALSE(trace::is_enabled());
  trace::log("nothing");
  auto older = std::make_unique<trace::region>("older");
  trace::start(file.path());
  EXPECT_TRUE(trace::is_enabled());
  older = nullptr;
  const std::string long_text(300, 'x');
  {
    const trace::task order("order \"7\"");
    const trace::region outer(order, "outer");
    const sley::chan<int> c;
    sley::wait_group all;
    all.go([&] {
      const trace::region inner(order, "ships it");
      EXPECT_EQ(c.receive(), 1);
    });
    const trace::region inner("inner");
    c.send(1);
    all.wait();
    order.log("is done");
    trace::log(long_text);
    trace::log("");
  }
  trace::stop();
  EXPECT_TRUE(sley_test::is_utf8(file.text()));
  const auto begins = file.marks("b");
  const auto ends = file.marks("e");
  const auto logs = file.marks("i");
  const auto count = [](const std::vector<traced_mark>& all, const std::string& name) {
    return std::ranges::count(all, name, &traced_mark::name);
  };
  for (const char* name : {"outer", "inner", "ships it"}) {
    EXPECT_EQ(count(begins, name), 1) << name;
    EXPECT_EQ(count(ends, name), 1) << name;
  }
  EXPECT_EQ(begins.size(), 4u) << "three regions and a task";
  EXPECT_EQ(ends.size(), 4u) << "and not the region that began before the trace";
  const auto of_task = std::ranges::find(begins, std::string("ships it"), &traced_mark::name);
  ASSERT_NE(of_task, begins.end());
  const auto main = std::ranges::find(begins, std::string("outer"), &traced_mark::name);
  EXPECT_EQ(of_task->task, main->task) << "both belong to the order";
  EXPECT_EQ(main->goroutine, "1");
  EXPECT_EQ(main->id, "1") << "a region's row is its goroutine's";
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs[0].name, "is done");
  EXPECT_EQ(logs[0].task, main->task);
  EXPECT_EQ(logs[1].name, long_text.substr(0, 255));
  EXPECT_EQ(logs[2].name, "");
}

// CPU time, because on a busy machine a thread gets too little of it for a slice to end.
GO_TEST(tracer, goroutines_that_compute_and_block_are_seen_to_lose_their_processor) {
  const trace_path file;
  const int procs = sley::runtime::max_procs();
  trace::start(file.path());
  sley::wait_group all;
  for (int i = 0; i < 2 * procs; ++i) {
    all.go([] {
      const auto begin = sley_test::cpu_time(CLOCK_THREAD_CPUTIME_ID);
      while (sley_test::cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin < 100ms) {
      }
    });
  }
  all.go([] { std::this_thread::sleep_for(60ms); });
  all.wait();
  trace::stop();
  const auto runs = file.runs();
  expect_one_at_a_time(runs);
  EXPECT_TRUE(has_end(runs, "preempted"));
}

GO_TEST(tracer, is_switched_by_any_thread_while_others_work_and_processors_come_and_go) {
  const int before = sley::runtime::max_procs();
  std::atomic<bool> is_over = false;
  std::atomic<int> laps = 0;
  sley::wait_group all;
  for (int i = 0; i < 8; ++i) {
    all.go([&] {
      while (!is_over) {
        sley::wait_group one;
        one.go([] { compute_for(50us); });
        one.wait();
        ++laps;
      }
    });
  }
  std::thread thread([&] {
    for (int i = 0; i < sley_test::rounds(20); ++i) {
      const trace_path file;
      trace::start(file.path());
      const int laps_before = laps;
      sley::runtime::set_max_procs(1 + i % 8);
      std::this_thread::sleep_for(2ms);
      // The system may have run none of our threads meanwhile.
      EXPECT_TRUE(sley_test::eventually([&] { return laps > laps_before; }));
      trace::stop();
      const auto runs = file.runs();
      EXPECT_FALSE(runs.empty());
      expect_one_at_a_time(runs);
    }
    is_over = true;
  });
  all.wait();
  thread.join();
  sley::runtime::set_max_procs(before);
}

GO_TEST(tracer, misuse_is_named) {
  const trace_path file;
  trace::stop();  // nothing
  EXPECT_THROW(trace::start("/nonexistent/trace.json"), std::system_error);
  trace::start(file.path());
  EXPECT_THROW(trace::start(file.path()), std::logic_error);
  trace::stop();
  trace::stop();
  trace::start("/dev/full");
  sley::this_goroutine::yield();
  EXPECT_THROW(trace::stop(), std::system_error);
  trace::start(file.path());
  trace::stop();
}
