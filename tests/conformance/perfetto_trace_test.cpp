// Aim: Perfetto's form of a trace tells the same as the other one: rows for processors and
// goroutines on which pieces of time lie in each other, and arrows with two ends. Method: the
// messages are taken apart and put in the order of their times, as Perfetto does it.
#include "support/harness.hpp"
#include "support/protobuf.hpp"
#include "support/temporary_folder.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace trace = sley::debug::trace;
using namespace std::chrono_literals;

namespace {

enum type : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3 };

struct track_event {
  std::uint64_t ns = 0;
  std::uint64_t type = 0;
  std::uint64_t track = 0;
  std::string name;
  std::uint64_t flow = 0;
  std::uint64_t last_flow = 0;
  std::map<std::string, std::string> annotations;
};

struct track {
  std::string name;
  std::uint64_t parent = 0;
};

struct slice {
  std::string name;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // 0: it goes on
};

// What the file says.
struct read_trace {
  std::map<std::uint64_t, track> tracks;
  std::vector<track_event> events;                     // by time
  std::map<std::uint64_t, std::vector<slice>> slices;  // by track, in the order of their begins

  std::uint64_t track_named(std::string_view prefix, std::string_view parent) const {
    for (const auto& [id, t] : tracks) {
      const auto p = tracks.find(t.parent);
      if (t.name.starts_with(prefix) && p != tracks.end() && p->second.name.starts_with(parent)) {
        return id;
      }
    }
    ADD_FAILURE() << "no row " << prefix << " in " << parent;
    return 0;
  }
  std::vector<std::string> names_on(std::uint64_t id) const {
    std::vector<std::string> names;
    if (!slices.contains(id)) return names;
    for (const slice& s : slices.at(id)) names.push_back(s.name);
    return names;
  }
};

track_event parse_event(std::uint64_t ns, std::string_view bytes) {
  using sley_test::the;
  track_event e{.ns = ns,
                .type = the(bytes, 9).number,
                .track = the(bytes, 11).number,
                .name = std::string(the(bytes, 23).bytes),
                .flow = the(bytes, 47).number,
                .last_flow = the(bytes, 48).number,
                .annotations = {}};
  for (const sley_test::field& a : sley_test::fields_of(bytes, 4)) {
    const std::string text(the(a.bytes, 6).bytes);
    e.annotations[std::string(the(a.bytes, 10).bytes)] =
        text.empty() ? std::to_string(the(a.bytes, 3).number) : text;
  }
  return e;
}

void lay_slices(read_trace& t) {
  std::map<std::uint64_t, std::vector<std::size_t>> open;
  for (const track_event& e : t.events) {
    EXPECT_TRUE(t.tracks.contains(e.track)) << "an event without a row: " << e.name;
    std::vector<slice>& row = t.slices[e.track];
    if (e.type == slice_begin) {
      open[e.track].push_back(row.size());
      row.push_back({e.name, e.ns, 0});
    } else if (e.type == slice_end) {
      if (open[e.track].empty()) {
        ADD_FAILURE() << "an end without a begin on " << t.tracks[e.track].name;
        continue;
      }
      row[open[e.track].back()].end_ns = e.ns;
      open[e.track].pop_back();
    }
  }
}

read_trace parse(const std::string& bytes) {
  using sley_test::the;
  read_trace result;
  for (const sley_test::field& packet : sley_test::fields_of(bytes, 1)) {
    const std::string_view descriptor = the(packet.bytes, 60).bytes;
    const std::string_view event = the(packet.bytes, 11).bytes;
    EXPECT_EQ(the(packet.bytes, 10).number, 1u) << "one sequence";
    if (!descriptor.empty()) {
      const std::string_view process = the(descriptor, 3).bytes;
      result.tracks[the(descriptor, 1).number] = {
          std::string(process.empty() ? the(descriptor, 2).bytes : the(process, 6).bytes),
          the(descriptor, 5).number};
    }
    if (!event.empty()) {
      EXPECT_EQ(the(packet.bytes, 58).number, 3u) << "CLOCK_MONOTONIC";
      result.events.push_back(parse_event(the(packet.bytes, 8).number, event));
    }
  }
  std::vector<std::size_t> order(result.events.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(result.events[i].ns, i); });
  std::vector<track_event> sorted;
  for (const std::size_t i : order) sorted.push_back(result.events[i]);
  result.events = std::move(sorted);
  lay_slices(result);
  return result;
}

template <class F>
read_trace traced(F f) {
  const sley_test::temporary_folder folder;
  const std::string path = folder / "trace";
  trace::start(path, trace::format::perfetto);
  f();
  trace::stop();
  return parse(sley::os::read_file(path));
}

bool receives(std::string_view name) {
  return std::ranges::any_of(sley::debug::goroutines(), [&](const auto& g) {
    return g.name == name && g.state.starts_with("chan receive");
  });
}

}  // namespace

GO_TEST(perfetto_trace, rows_show_what_goroutines_do) {
  const read_trace t = traced([] {
    const sley::chan<int> c;
    sley::wait_group all;
    all.add(1);
    sley::go({.name = "does \"much\""}, [&] {
      EXPECT_EQ(c.receive(), 1);
      sley::this_goroutine::sleep_for(1ms);
      sley::this_goroutine::yield();
      all.done();
    });
    // By sleeps, because yields would fill the trace where the thread that reads it has to wait.
    while (!receives("does \"much\"")) sley::this_goroutine::sleep_for(1ms);
    c.send(1);
    all.wait();
    EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
  });
  const std::uint64_t row = t.track_named("does \"much\", goroutine ", "goroutines");
  const std::vector<std::string> names = t.names_on(row);
  for (const char* name : {"running", "runnable", "chan receive", "sleep"}) {
    EXPECT_TRUE(std::ranges::count(names, name) > 0) << name;
  }
  ASSERT_TRUE(t.slices.contains(row));
  std::uint64_t last_ns = 0;
  for (const slice& s : t.slices.at(row)) {
    EXPECT_GE(s.begin_ns, last_ns) << s.name << " lies in another";
    EXPECT_NE(s.end_ns, 0u) << s.name << " goes on after the goroutine's end";
    last_ns = s.end_ns;
  }
  std::size_t runs = 0;
  for (int i = 0; i < sley::runtime::max_procs(); ++i) {
    runs += t.names_on(t.track_named("P " + std::to_string(i), "processors")).size();
  }
  EXPECT_GT(runs, 0u);
  EXPECT_TRUE(std::ranges::any_of(t.events, [](const track_event& e) {
    return e.annotations.contains("started") && !e.annotations.at("started").empty();
  }));
}

GO_TEST(perfetto_trace, arrows_lead_to_runs) {
  constexpr int count = 200;
  const read_trace t = traced([] {
    const sley::chan<int> there, back;
    sley::go({.name = "pong"}, [=] {
      for (const int i : there) back.send(i);
    });
    for (int i = 0; i < count; ++i) {
      there.send(i);
      back.receive();
    }
    there.close();
  });
  std::map<std::uint64_t, const track_event*> begun;
  int ended = 0;
  for (const track_event& e : t.events) {
    if (e.flow != 0) {
      EXPECT_TRUE(begun.emplace(e.flow, &e).second) << "each arrow begins once";
    }
    if (e.last_flow == 0) continue;
    const auto at = begun.find(e.last_flow);
    if (at == begun.end()) {
      ADD_FAILURE() << "an arrow without a begin";
      continue;
    }
    ++ended;
    EXPECT_EQ(e.type, slice_begin);
    EXPECT_EQ(e.name, at->second->annotations.at("goroutine"))
        << "it leads to the goroutine that it names";
  }
  EXPECT_GE(ended, count);
}

// At one processor the thread that writes the trace tells of the start before there is a run.
GO_TEST(perfetto_trace, a_start_names_the_goroutine_also_if_it_runs_much_later) {
  const read_trace t = traced([] {
    sley::latch done(1);
    sley::go({.name = "late"}, [&] { done.count_down(); });
    const auto until = std::chrono::steady_clock::now() + 8ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    done.wait();
  });
  const auto starts = [](const track_event& e) {
    return e.name == "starts" && e.annotations.at("goroutine").starts_with("late, goroutine ");
  };
  EXPECT_EQ(std::ranges::count_if(t.events, starts), 1);
}

GO_TEST(perfetto_trace, regions_tasks_and_logs_have_rows) {
  const read_trace t = traced([] {
    const trace::task order("an \xff order");
    const trace::region outer("outer");
    {
      const trace::region inner(order, "inner");
      sley::this_goroutine::yield();
      order.log("here");
    }
  });
  EXPECT_EQ(t.names_on(t.track_named("notes", "goroutine 1")),
            (std::vector<std::string>{"outer", "inner"}));
  const std::uint64_t task = t.track_named("an \\xff order", "tasks");
  EXPECT_EQ(t.names_on(task), (std::vector<std::string>{"an \\xff order"}));
  EXPECT_TRUE(std::ranges::any_of(t.events, [](const track_event& e) {
    return e.type == instant && e.name == "here" && e.annotations.contains("task");
  }));
}

GO_TEST(perfetto_trace, is_whole_whatever_goes_on) {
  const read_trace t = traced([] {
    sley::wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([] {
        for (int k = 0; k < sley_test::rounds(50); ++k) {
          sley::wait_group one;
          one.go([] { sley::blocking([] { std::this_thread::sleep_for(100us); }); });
          one.wait();
          std::this_thread::sleep_for(10us);
        }
      });
    }
    all.wait();
  });
  EXPECT_FALSE(t.events.empty());
  EXPECT_TRUE(std::ranges::none_of(
      t.events, [](const track_event& e) { return e.name.starts_with("lost events"); }));
}
