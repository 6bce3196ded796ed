// Aim: the tracer writes exactly the events that happened: every goroutine's runs, one at a time on
// each processor, with the reason of their ends. Method: programs whose runs are known; the file is
// read back line by line.
#include "support/harness.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace trace = sley::debug::trace;
using namespace std::chrono_literals;

namespace {

struct run {
  unsigned processor;
  double begin_us;
  double length_us;
  std::string name;
  std::string end;
  std::string started;
};

// Removed at the end.
class trace_file {
 public:
  trace_file() : path_("/tmp/sley_trace_test." + std::to_string(::getpid()) + ".json") {}
  ~trace_file() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::vector<run> runs() const {
    std::ifstream in(path_);
    std::vector<run> all;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(R"({"ph":"X")")) all.push_back(parse(line));
    }
    return all;
  }

 private:
  static std::string field(const std::string& line, const std::string& key) {
    const std::size_t at = line.find("\"" + key + "\":");
    if (at == std::string::npos) return "(none)";
    std::size_t from = at + key.size() + 3;
    const bool is_text = line[from] == '"';
    if (is_text) ++from;
    return line.substr(from, line.find_first_of(is_text ? "\"" : ",}", from) - from);
  }

  static run parse(const std::string& line) {
    return {.processor = static_cast<unsigned>(std::stoul(field(line, "tid"))),
            .begin_us = std::stod(field(line, "ts")),
            .length_us = std::stod(field(line, "dur")),
            .name = field(line, "name"),
            .end = field(line, "end"),
            .started = field(line, "started")};
  }

  std::string path_;
};

std::vector<run> of(const std::vector<run>& all, const std::string& name) {
  std::vector<run> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const run& r) { return r.name.starts_with(name); });
  return some;
}

void expect_one_at_a_time(std::vector<run> all) {
  std::ranges::sort(all, {}, &run::begin_us);
  std::map<unsigned, double> free_at;
  for (const run& r : all) {
    EXPECT_GE(r.length_us, 0);
    EXPECT_GE(r.begin_us, free_at[r.processor] - 0.01) << r.name;  // three decimals
    free_at[r.processor] = r.begin_us + r.length_us;
  }
}

bool has_end(const std::vector<run>& all, const std::string& end) {
  return std::ranges::any_of(all, [&](const run& r) { return r.end == end; });
}

void compute_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

GO_TEST(tracer, runs_are_there_with_their_ends) {
  const trace_file file;
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
  const auto receiving = of(runs, "receives, goroutine ");
  EXPECT_TRUE(has_end(receiving, "sleep"));
  EXPECT_TRUE(has_end(receiving, "yielded"));
  EXPECT_TRUE(has_end(receiving, "ended"));
  EXPECT_TRUE(has_end(receiving, "chan receive") || has_end(of(runs, "sends"), "chan send"));
  EXPECT_TRUE(has_end(of(runs, "goroutine 1"), "sync.WaitGroup.Wait"));
  ASSERT_FALSE(receiving.empty());
  EXPECT_TRUE(file.text().ends_with("}\n"));
  EXPECT_NE(file.text().find(R"("lost events":"0")"), std::string::npos);
}

GO_TEST(tracer, each_goroutine_of_many_is_there) {
  const trace_file file;
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
  for (const run& r : runs) names.insert(r.name);
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
  const trace_file file;
  trace::start(file.path());
  sley::wait_group all;
  starts_some_here(all);
  all.wait();
  EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
  trace::stop();
  const auto runs = file.runs();
  const auto direct = of(runs, "by go");
  ASSERT_FALSE(direct.empty());
  if (direct.front().started.find(':') == std::string::npos) GTEST_SKIP() << "no lines are known";
  EXPECT_NE(direct.front().started.find("starts_some_here"), std::string::npos)
      << direct.front().started;
  for (const run& r : runs) {
    EXPECT_EQ(r.started.find("sley/detail/"), std::string::npos) << r.name << ": " << r.started;
    EXPECT_EQ(r.started.find("sley/go.hpp"), std::string::npos) << r.name << ": " << r.started;
  }
}

GO_TEST(tracer, the_file_is_utf8_whatever_the_names_are) {
  const trace_file file;
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
  EXPECT_FALSE(of(runs, std::string(30, 'n') + ", goroutine").empty()) << "cut at a character";
  EXPECT_FALSE(of(runs, "no \\\\xff UTF-8 \\\\xc3, goroutine").empty()) << "as dumps show it";
  EXPECT_FALSE(of(runs, "caf\xc3\xa9, goroutine").empty());
}

GO_TEST(tracer, goroutines_that_compute_and_block_are_seen_to_lose_their_processor) {
  const trace_file file;
  const int procs = sley::runtime::max_procs();
  trace::start(file.path());
  sley::wait_group all;
  for (int i = 0; i < 2 * procs; ++i) all.go([] { compute_for(50ms); });
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
      const trace_file file;
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
  const trace_file file;
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
