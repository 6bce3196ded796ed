// Perfetto's trace: https://perfetto.dev/docs/reference/synthetic-track-event
//
// Below the process stand two groups of rows: the processors, with the goroutines that they run,
// and the goroutines, with what each of them does: it runs, can run, or waits for something. Below
// a goroutine's row stand the program's regions and logs. Tasks have rows of their own. An arrow
// leads from what made a goroutine runnable to its run.
#include "debug/protobuf.hpp"
#include "debug/trace_writer.hpp"
#include "platform/os.hpp"
#include "platform/timespec.hpp"

#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sley::debug::trace {

namespace {

// Numbers of fields, by message.
namespace packet {
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11,
                        sequence_flags = 13, clock = 58, track_descriptor = 60;
}
namespace clock_snapshot {
constexpr std::uint32_t clock = 1, id = 1, ns = 2;
}
namespace event {
constexpr std::uint32_t annotation = 4, type = 9, track = 11, name = 23, flow = 47, last_flow = 48;
enum type_value : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3 };
}  // namespace event
namespace annotation {
constexpr std::uint32_t number = 3, text = 6, name = 10;
}
namespace track {
constexpr std::uint32_t id = 1, name = 2, process = 3, parent = 5, order = 11, rank = 12;
constexpr std::uint64_t by_rank = 3;
}  // namespace track
namespace process {
constexpr std::uint32_t id = 1, name = 6;
}

constexpr std::uint32_t packet_of_trace = 1;
constexpr std::uint64_t monotonic_clock = 3;  // its number for CLOCK_MONOTONIC
constexpr std::uint64_t boottime_clock = 6;
constexpr std::uint64_t the_sequence = 1;
constexpr std::uint64_t state_is_cleared = 1;

// Rows. Goroutines and tasks have their numbers behind these.
constexpr std::uint64_t process_row = 1;
constexpr std::uint64_t processors_row = 2;
constexpr std::uint64_t goroutines_row = 3;
constexpr std::uint64_t tasks_row = 4;
constexpr std::uint64_t first_processor = 1'000;
constexpr std::uint64_t first_goroutine = std::uint64_t{1} << 60;
constexpr std::uint64_t first_note = std::uint64_t{1} << 61;  // of a goroutine's notes
constexpr std::uint64_t first_task = std::uint64_t{1} << 62;

class perfetto_writer : public trace_writer {
 public:
  explicit perfetto_writer(const std::string& path) : file_(path) {
    begin_sequence();
    protobuf_message of_process;
    of_process.add_number(process::id, static_cast<std::uint64_t>(::getpid()));
    of_process.add_bytes(process::name, "sley");
    protobuf_message row;
    row.add_number(track::id, process_row);
    row.add_message(track::process, of_process);
    row.add_number(track::order, track::by_rank);
    add_row(row);
    add_group(processors_row, "processors", 1);
    add_group(goroutines_row, "goroutines", 2);
    add_group(tasks_row, "tasks", 3);
  }

  void add_processor(std::uint32_t id) override {
    protobuf_message row =
        named_row(first_processor + id, processors_row, "P " + std::to_string(id));
    row.add_number(track::rank, id + 1);
    add_row(row);
  }

  void add_run(const traced_run& run) override {
    state& of = state_of(run.goroutine);
    protobuf_message begin = slice(first_processor + run.processor, title(run.goroutine));
    add_number(begin, "machine", run.machine);
    add_text(begin, "end", run.end);
    if (const std::uint64_t arrow = std::exchange(of.arrow, 0)) {
      begin.add_fixed(event::last_flow, arrow);
    }
    add_event(run.begin_ns, begin);
    end_slice(run.end_ns, first_processor + run.processor);

    const std::uint64_t row = first_goroutine + run.goroutine.id;
    end_state(of, run.begin_ns, row);
    protobuf_message running = slice(row, "running");
    if (!std::exchange(of.has_start, true)) {
      add_text(running, "started", shown(places_[run.goroutine.started_at]));
    }
    add_event(run.begin_ns, running);
    end_slice(run.end_ns, row);
    if (run.way == run_way::ends) {
      states_.erase(run.goroutine.id);
    } else if (run.way != run_way::is_cut) {
      begin_state(of, run.end_ns, row, run.way == run_way::can_go_on ? "runnable" : run.end);
    }
  }

  void add_wake(const traced_wake& wake) override {
    state& of = state_of(wake.goroutine);
    const std::uint64_t row = first_goroutine + wake.goroutine.id;
    end_state(of, wake.ns, row);
    begin_state(of, wake.ns, row, "runnable");
    of.arrow = ++last_arrow_;
    protobuf_message by;
    by.add_number(event::type, event::instant);
    by.add_number(event::track, first_processor + wake.processor);
    by.add_bytes(event::name, wake.is_start ? "starts" : "wakes");
    by.add_fixed(event::flow, of.arrow);
    add_text(by, "goroutine", title(wake.goroutine));
    add_event(wake.ns, by);
  }

  void add_note(const traced_note& note) override {
    const std::uint64_t row = first_note + note.goroutine.id;
    const std::uint64_t task_row = first_task + note.task;
    if (note.kind == note_kind::region_begin || note.kind == note_kind::log) make_note_row(note);
    switch (note.kind) {
      case note_kind::region_begin: return add_noted(note, slice(row, shown(note.text)));
      case note_kind::region_end: return end_slice(note.ns, row);
      case note_kind::task_begin:
        add_row(named_row(task_row, tasks_row, shown(note.text)));
        return add_noted(note, slice(task_row, shown(note.text)));
      case note_kind::task_end: return end_slice(note.ns, task_row);
      case note_kind::log: break;
    }
    protobuf_message log;
    log.add_number(event::type, event::instant);
    log.add_number(event::track, row);
    log.add_bytes(event::name, shown(note.text));
    add_noted(note, std::move(log));
  }

  void complete(std::uint64_t lost) override {
    if (lost != 0) {
      protobuf_message e;
      e.add_number(event::type, event::instant);
      e.add_number(event::track, process_row);
      e.add_bytes(event::name, "lost events: " + std::to_string(lost));
      add_event(platform::monotonic_ns(), e);
    }
    file_.complete();
  }

 private:
  // What is known of a goroutine that lives.
  struct state {
    std::string name;          // that its row has
    std::uint64_t arrow = 0;   // that leads to its next run; 0: none
    bool is_in_state = false;  // its row shows what it waits for, or that it can run
    bool has_start = false;    // its row says where it was started
    bool has_note_row = false;
  };

  // Perfetto's own clock, in which it shows times, is CLOCK_BOOTTIME.
  void begin_sequence() {
    protobuf_message clocks;
    for (const clockid_t id : {CLOCK_BOOTTIME, CLOCK_MONOTONIC}) {
      timespec now{};
      ::clock_gettime(id, &now);
      protobuf_message clock;
      clock.add_number(clock_snapshot::id, id == CLOCK_BOOTTIME ? boottime_clock : monotonic_clock);
      clock.add_number(clock_snapshot::ns, static_cast<std::uint64_t>(platform::to_ns(now)));
      clocks.add_message(clock_snapshot::clock, clock);
    }
    protobuf_message p;
    p.add_message(packet::clock_snapshot, clocks);
    p.add_number(packet::sequence_flags, state_is_cleared);
    add_packet(std::move(p));
  }

  static protobuf_message named_row(std::uint64_t id, std::uint64_t parent, std::string_view name) {
    protobuf_message row;
    row.add_number(track::id, id);
    row.add_bytes(track::name, name);
    row.add_number(track::parent, parent);
    return row;
  }

  void add_group(std::uint64_t id, std::string_view name, std::uint64_t rank) {
    protobuf_message row = named_row(id, process_row, name);
    row.add_number(track::order, track::by_rank);
    row.add_number(track::rank, rank);
    add_row(row);
  }

  void add_row(const protobuf_message& row) {
    protobuf_message p;
    p.add_message(packet::track_descriptor, row);
    add_packet(std::move(p));
  }

  void add_packet(protobuf_message p) {
    p.add_number(packet::sequence, the_sequence);
    protobuf_message trace;
    trace.add_message(packet_of_trace, p);
    file_.text(trace.take_bytes());
  }

  void add_event(std::int64_t ns, const protobuf_message& e) {
    protobuf_message p;
    p.add_number(packet::timestamp, static_cast<std::uint64_t>(ns));
    p.add_number(packet::clock, monotonic_clock);
    p.add_message(packet::track_event, e);
    add_packet(std::move(p));
  }

  static protobuf_message slice(std::uint64_t row, std::string_view name) {
    protobuf_message e;
    e.add_number(event::type, event::slice_begin);
    e.add_number(event::track, row);
    e.add_bytes(event::name, name);
    return e;
  }

  void end_slice(std::int64_t ns, std::uint64_t row) {
    protobuf_message e;
    e.add_number(event::type, event::slice_end);
    e.add_number(event::track, row);
    add_event(ns, e);
  }

  static void add_number(protobuf_message& to, std::string_view name, std::uint64_t value) {
    protobuf_message a;
    a.add_bytes(annotation::name, name);
    a.add_number(annotation::number, value);
    to.add_message(event::annotation, a);
  }

  static void add_text(protobuf_message& to, std::string_view name, std::string_view value) {
    protobuf_message a;
    a.add_bytes(annotation::name, name);
    a.add_bytes(annotation::text, value);
    to.add_message(event::annotation, a);
  }

  void add_noted(const traced_note& note, protobuf_message e) {
    add_number(e, "goroutine", note.goroutine.id);
    if (note.task != 0) add_number(e, "task", note.task);
    add_event(note.ns, e);
  }

  void begin_state(state& of, std::int64_t ns, std::uint64_t row, std::string_view name) {
    add_event(ns, slice(row, name));
    of.is_in_state = true;
  }
  void end_state(state& of, std::int64_t ns, std::uint64_t row) {
    if (std::exchange(of.is_in_state, false)) end_slice(ns, row);
  }

  // A goroutine that is met for the first time gets a row. The row gets another name as soon as the
  // goroutine has one: what made it runnable is told before its name, which comes with its first
  // run. Perfetto shows the last name of a row.
  state& state_of(const traced_goroutine& g) {
    const auto [at, is_new] = states_.try_emplace(g.id);
    if (is_new || at->second.name != g.name) {
      at->second.name = g.name;
      protobuf_message row = named_row(first_goroutine + g.id, goroutines_row, title(g));
      row.add_number(track::order, track::by_rank);
      add_row(row);
    }
    return at->second;
  }

  void make_note_row(const traced_note& note) {
    if (std::exchange(state_of(note.goroutine).has_note_row, true)) return;
    const std::uint64_t id = note.goroutine.id;
    add_row(named_row(first_note + id, first_goroutine + id, "notes"));
  }

  trace_file file_;
  start_places places_;
  std::unordered_map<std::uint64_t, state> states_;
  std::uint64_t last_arrow_ = 0;
};

}  // namespace

std::unique_ptr<trace_writer> make_perfetto_writer(const std::string& path) {
  return std::make_unique<perfetto_writer>(path);
}

}  // namespace sley::debug::trace
