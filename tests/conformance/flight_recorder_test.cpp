// Aim: a flight recorder has the newest events, whole and in order, whatever was written over, and
// gives them while others work.
#include "support/chrome_trace.hpp"
#include "support/harness.hpp"

#include <sley/debug.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace trace = sley::debug::trace;
using namespace std::chrono_literals;
using sley_test::expect_one_at_a_time;
using sley_test::runs_of;
using sley_test::trace_path;
using sley_test::traced_mark;
using sley_test::traced_run;

namespace {

constexpr std::size_t smallest = std::size_t{64} << 10;

void pingpong(int rounds) {
  const sley::chan<int> there, back;
  sley::go({.name = "pong"}, [=] {
    for (const int i : there) back.send(i);
  });
  for (int i = 0; i < rounds; ++i) {
    there.send(i);
    back.receive();
  }
  there.close();
}

}  // namespace

GO_TEST(flight_recorder, has_what_happened_last) {
  const trace::flight_recorder recorder({.bytes_per_processor = smallest});
  EXPECT_TRUE(trace::is_enabled());
  pingpong(sley_test::rounds(20'000));  // written over several times
  for (int i = 0; i < 10; ++i) trace::log("mark " + std::to_string(i));
  const trace_path file;
  recorder.write(file.path());
  const auto runs = file.runs();
  expect_one_at_a_time(runs);
  EXPECT_FALSE(runs_of(runs, "goroutine 1").empty());
  const auto marks = file.marks("i");
  ASSERT_EQ(marks.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(marks[static_cast<std::size_t>(i)].name, "mark " + std::to_string(i));
  }
  EXPECT_TRUE(file.has_lost_none()) << "what is too old is not lost";
}

// Descriptions of goroutines are repeated in the ring.
GO_TEST(flight_recorder, knows_goroutines_that_were_there_before) {
  const sley::chan<int> there, back;
  sley::go({.name = "older than the recorder"}, [=] {
    for (const int i : there) back.send(i);
  });
  there.send(0);
  back.receive();
  const trace::flight_recorder recorder({.bytes_per_processor = smallest});
  for (int i = 0; i < sley_test::rounds(20'000); ++i) {
    there.send(i);
    back.receive();
  }
  const trace_path file;
  recorder.write(file.path());
  there.close();
  const auto runs = file.runs();
  EXPECT_FALSE(runs_of(runs, "older than the recorder, goroutine ").empty());
}

GO_TEST(flight_recorder, goes_on_and_a_trace_may_be_on_beside_it) {
  const trace::flight_recorder recorder({.bytes_per_processor = smallest});
  trace::log("before");
  const trace_path traced;
  trace::start(traced.path());
  trace::log("during");
  trace::stop();
  trace::log("after");
  const trace_path recorded;
  recorder.write(recorded.path());
  std::vector<std::string> names;
  for (const traced_mark& m : recorded.marks("i")) names.push_back(m.name);
  EXPECT_EQ(names, (std::vector<std::string>{"before", "during", "after"}));
  ASSERT_EQ(traced.marks("i").size(), 1u);
  EXPECT_EQ(traced.marks("i")[0].name, "during");
  EXPECT_FALSE(traced.runs().empty());
}

GO_TEST(flight_recorder, is_written_by_any_thread_while_others_work) {
  const trace::flight_recorder recorder({.bytes_per_processor = smallest});
  std::atomic<bool> is_over = false;
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([&] {
      while (!is_over) pingpong(100);
    });
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < sley_test::rounds(4); ++k) {
        const trace_path file;
        recorder.write(file.path());
        expect_one_at_a_time(file.runs());
      }
    });
  }
  sley::blocking([&] {
    for (std::thread& t : threads) t.join();
  });
  is_over = true;
  all.wait();
}

GO_TEST(flight_recorder, misuse_is_named) {
  const trace::flight_recorder recorder;
  EXPECT_THROW(trace::flight_recorder(), std::logic_error);
  EXPECT_THROW(recorder.write("/nonexistent/trace.json"), std::system_error);
  EXPECT_THROW(recorder.write("/dev/full"), std::system_error);
  const trace_path file;
  recorder.write(file.path());
  EXPECT_TRUE(file.text().ends_with("}\n"));
}
