#include "debug/trace_reader.hpp"

#include "platform/os.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace sley::debug::trace {

namespace {

using rt::trace_kind;

// Rings begin at a page each.
std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = platform::page_bytes();
  return (bytes + page - 1) / page * page;
}

std::size_t bytes_of_traces() { return whole_pages(rt::max_processors * sizeof(rt::run_trace)); }

note_kind kind_of(trace_kind kind) {
  switch (kind) {
    case trace_kind::region_begin: return note_kind::region_begin;
    case trace_kind::region_end: return note_kind::region_end;
    case trace_kind::task_begin: return note_kind::task_begin;
    case trace_kind::task_end: return note_kind::task_end;
    default: return note_kind::log;
  }
}

run_way way_of(std::uint8_t end) {
  switch (end) {
    case rt::yielded:
    case rt::preempted: return run_way::can_go_on;
    case rt::ended: return run_way::ends;
    default: return run_way::waits;
  }
}

void append_piece(std::string& to, std::uint64_t piece, std::size_t whole) {
  char bytes[sizeof piece];
  std::memcpy(bytes, &piece, sizeof piece);
  to.append(bytes, std::min(sizeof bytes, whole - std::min(whole, to.size())));
}

}  // namespace

trace_rings::trace_rings(std::size_t bytes_each) {
  constexpr std::size_t least = 64 << 10;
  constexpr std::size_t most = 256 << 20;
  const std::size_t each = std::bit_ceil(std::clamp(bytes_each, least, most));
  bytes_ = bytes_of_traces() + rt::max_processors * each;
  void* memory = platform::map_memory(bytes_, true);
  if (memory == nullptr) throw std::bad_alloc();
  auto* slots = static_cast<std::byte*>(memory) + bytes_of_traces();
  memory_ = {static_cast<rt::run_trace*>(memory), reinterpret_cast<parts::trace_slot*>(slots),
             each / sizeof(parts::trace_slot)};
}

trace_rings::~trace_rings() { platform::unmap_memory(memory_.traces, bytes_); }

// The best of a few, because the thread may lose its CPU between the two.
clock_pair clock_pair::now() noexcept {
  clock_pair best{};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t before = platform::cycle_counter();
    const std::int64_t ns = platform::monotonic_ns();
    const std::uint64_t took = platform::cycle_counter() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns};
  }
  return best;
}

trace_reader::trace_reader(const trace_rings& rings, const clock_pair& since, bool is_all)
    : rings_(rings), wants_old_(is_all), before_(since), after_(since) {
  if (is_all) return;
  timelines_.resize(rt::sched.made_procs.read());
  for (std::uint32_t i = 0; i < timelines_.size(); ++i) {
    timelines_[i].next = rings_.memory().traces[i].events.end();
  }
}

traced_goroutine& trace_reader::goroutine(std::uint64_t id) {
  traced_goroutine& g = goroutines_[id];
  g.id = id;
  return g;
}

void trace_reader::read(trace_writer& to) {
  // What has happened before, in the order of the counter, has been published before if anything
  // that followed from it has.
  const clock_pair now = clock_pair::now();
  take_slots();
  before_ = std::exchange(after_, now);
  tell_until(now.ticks, to);
}

std::uint64_t trace_reader::complete(trace_writer& to) {
  take_slots();
  before_ = std::exchange(after_, clock_pair::now());
  tell_until(std::numeric_limits<std::uint64_t>::max(), to);
  for (std::uint32_t i = 0; i < timelines_.size(); ++i)
    end_run(i, after_.ns, "running", run_way::is_cut, to);
  return lost_;
}

void trace_reader::take_slots() {
  timelines_.resize(rt::sched.made_procs.read());
  for (std::uint32_t i = 0; i < timelines_.size(); ++i) {
    timeline& of = timelines_[i];
    std::uint64_t noted = 0;
    const auto note_gap = [&](std::uint64_t lost) {
      if (lost != 0) add(of.last_ticks, {trace_kind::gap, 0, 0}, i);
      noted += lost;
    };
    const std::uint64_t lost = rings_.memory().traces[i].events.read(
        of.next, [&](std::uint64_t first, std::uint64_t second, std::uint64_t before) {
          note_gap(before);
          take(i, first, second);
        });
    note_gap(lost - noted);
    if (!wants_old_) lost_ += lost;
  }
  wants_old_ = false;
}

trace_reader::event& trace_reader::add(std::uint64_t ticks, rt::trace_word what,
                                       std::uint32_t processor) {
  event& e = events_.emplace_back();
  e.ticks = ticks;
  e.order = ++order_;
  e.what = what;
  e.processor = processor;
  return e;
}

void trace_reader::take(std::uint32_t processor, std::uint64_t first, std::uint64_t second) {
  timeline& of = timelines_[processor];
  const auto what = rt::trace_word::of(second);
  if (what.kind == trace_kind::text) return take_text(of, first);
  of.open_note = nullptr;
  of.named = nullptr;
  switch (what.kind) {
    case trace_kind::place:
      goroutine(what.goroutine).started_at = reinterpret_cast<const void*>(first);
      return;
    case trace_kind::name:
      of.named = &goroutine(what.goroutine);
      of.named->name.clear();
      of.name_bytes = what.argument;
      return;
    default: break;
  }
  of.last_ticks = std::max(of.last_ticks, first);
  event& e = add(of.last_ticks, what, processor);
  if (what.kind >= trace_kind::region_begin) {
    e.text = std::make_unique<note>();
    e.text->bytes = what.argument;
    of.open_note = e.text.get();
  }
}

void trace_reader::take_text(timeline& of, std::uint64_t piece) {
  if (note* n = of.open_note; n != nullptr && !n->has_task) {
    n->task = piece;
    n->has_task = true;
  } else if (n != nullptr) {
    append_piece(n->text, piece, n->bytes);
  } else if (of.named != nullptr) {
    append_piece(of.named->name, piece, of.name_bytes);
  }  // else the begin of the text is lost
}

void trace_reader::tell_until(std::uint64_t ticks, trace_writer& to) {
  for (; told_processors_ < timelines_.size(); ++told_processors_) {
    to.add_processor(told_processors_);
  }
  std::ranges::sort(events_, [](const event& a, const event& b) {
    return a.ticks != b.ticks ? a.ticks < b.ticks : a.order < b.order;
  });
  const auto end = std::ranges::upper_bound(events_, ticks, {}, &event::ticks);
  std::for_each(events_.begin(), end, [&](const event& e) { tell(e, to); });
  events_.erase(events_.begin(), end);
}

void trace_reader::tell(const event& e, trace_writer& to) {
  timeline& of = timelines_[e.processor];
  const std::int64_t ns = ns_of(e.ticks);
  const std::uint64_t id = e.what.goroutine;
  switch (e.what.kind) {
    case trace_kind::gap: of.runs = nullptr; return;
    case trace_kind::machine: of.machine = static_cast<std::uint32_t>(id); return;
    case trace_kind::run:
      if (of.runs != nullptr && of.runs->id == id) return;  // noted once more
      end_run(e.processor, ns, rt::text_of_end(e.what.argument), way_of(e.what.argument), to);
      of.runs = &goroutine(id);
      of.since_ns = ns;
      // If another processor has it still, the end of that run is lost.
      if (const auto had = std::exchange(of.runs->processor, e.processor); had != e.processor) {
        take_away(*of.runs, had);
      }
      return;
    case trace_kind::leave:
      end_run(e.processor, ns, rt::text_of_end(e.what.argument), way_of(e.what.argument), to);
      return;
    case trace_kind::ready:
    case trace_kind::spawn:
      to.add_wake({of.runs, e.processor, goroutine(id), ns, e.what.kind == trace_kind::spawn});
      return;
    default: return tell_note(e, ns, to);
  }
}

// An end has the text of its begin; it is left out if that is lost.
void trace_reader::tell_note(const event& e, std::int64_t ns, trace_writer& to) {
  traced_goroutine& g = goroutine(e.what.goroutine);
  const note_kind kind = kind_of(e.what.kind);
  std::string text = std::move(e.text->text);
  if (kind == note_kind::region_begin) {
    g.regions.push_back(text);
  } else if (kind == note_kind::task_begin) {
    tasks_[e.text->task] = text;
  } else if (kind == note_kind::region_end) {
    if (g.regions.empty()) return;
    text = std::move(g.regions.back());
    g.regions.pop_back();
  } else if (kind == note_kind::task_end) {
    const auto begin = tasks_.extract(e.text->task);
    if (begin.empty()) return;
    text = std::move(begin.mapped());
  }
  to.add_note({kind, g, e.processor, e.text->task, text, ns});
}

void trace_reader::end_run(std::uint32_t processor, std::int64_t ns, const char* end, run_way way,
                           trace_writer& to) {
  timeline& of = timelines_[processor];
  const traced_goroutine* g = std::exchange(of.runs, nullptr);
  if (g == nullptr) return;
  to.add_run({*g, processor, of.machine, of.since_ns, ns, end, way});
  if (way == run_way::ends) forget(*g);
}

void trace_reader::take_away(const traced_goroutine& g, std::uint32_t processor) {
  if (processor == no_processor || timelines_[processor].runs != &g) return;
  timelines_[processor].runs = nullptr;
}

// So that the goroutines that are known are not more than live, or little more.
void trace_reader::forget(const traced_goroutine& g) {
  for (timeline& of : timelines_) {
    if (of.named == &g) of.named = nullptr;
  }
  take_away(g, g.processor);
  const std::uint64_t id = g.id;
  goroutines_.erase(id);
}

std::int64_t trace_reader::ns_of(std::uint64_t ticks) const {
  const std::uint64_t span = after_.ticks - before_.ticks;
  if (span == 0) return after_.ns;
  const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - before_.ticks));
  const double rate = static_cast<double>(after_.ns - before_.ns) / static_cast<double>(span);
  return before_.ns + static_cast<std::int64_t>(since * rate);
}

}  // namespace sley::debug::trace
