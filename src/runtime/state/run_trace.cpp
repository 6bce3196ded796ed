#include "runtime/state/run_trace.hpp"

#include "base/cut_text.hpp"
#include "platform/os.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sley::rt {

namespace {

void add(run_trace& trace, std::uint64_t first, trace_word second) noexcept {
  trace.events.put(0, first, second.bits());
  trace.events.publish(1);
}

std::uint8_t end_of(const goroutine* g, departure how) noexcept {
  switch (how) {
    case departure::parks: return static_cast<std::uint8_t>(g->reason);
    case departure::yields: return yielded;
    case departure::ends: return ended;
    case departure::none: break;
  }
  return no_run;
}

// Puts the text into the slots of an event from number `from` on, and returns how many it takes.
std::uint64_t put_text(run_trace& trace, std::uint64_t from, std::string_view text) noexcept {
  std::uint64_t slots = 0;
  for (; !text.empty(); ++slots) {
    const std::size_t bytes = std::min(text.size(), sizeof(std::uint64_t));
    std::uint64_t piece = 0;
    std::memcpy(&piece, text.data(), bytes);
    const auto number = static_cast<std::uint8_t>(slots);
    trace.events.put(from + slots, piece, trace_word{trace_kind::text, number, 0}.bits());
    text.remove_prefix(bytes);
  }
  return slots;
}

void add_name(run_trace& trace, const goroutine* g) noexcept {
  const std::string_view name = g->name();
  if (name.empty()) return;
  const auto bytes = static_cast<std::uint8_t>(name.size());
  trace.events.put(0, 0, trace_word{trace_kind::name, bytes, g->id}.bits());
  trace.events.publish(1 + put_text(trace, 1, name));
}

void describe(run_trace& trace, const goroutine* g) noexcept {
  add(trace, reinterpret_cast<std::uintptr_t>(g->created_at), {trace_kind::place, 0, g->id});
  add_name(trace, g);
}

// Sees to it that the goroutine is described in the ring's newer half.
void make_known(run_trace& trace, const goroutine* g) noexcept {
  if (trace.events.written() >= trace.forget_at) {
    std::ranges::fill(trace.known, 0);
    trace.forget_at += trace.events.capacity() / 2;
  }
  std::uint64_t& known = trace.known[g->id % run_trace::known_ids];
  if (known == g->id) return;
  known = g->id;
  describe(trace, g);
}

void add_run(run_trace& trace, const goroutine* g, std::uint8_t end_of_last) noexcept {
  make_known(trace, g);
  add(trace, platform::cycle_counter(), {trace_kind::run, end_of_last, g->id});
  trace.current = g->id;
}

void add_leave(run_trace& trace, std::uint8_t end) noexcept {
  add(trace, platform::cycle_counter(),
      {trace_kind::leave, end, std::exchange(trace.current, std::uint64_t{0})});
}

}  // namespace

const char* text_of_end(std::uint8_t end) noexcept {
  switch (end) {
    case yielded: return "yielded";
    case ended: return "ended";
    case preempted: return "preempted";
    case in_call: return "syscall";
    case was_asleep: return "asleep in the kernel";
    default: return text_of(static_cast<wait>(end));
  }
}

void set_trace(processor* p, const trace_memory* memory) noexcept {
  const bool was_on = p->trace != nullptr;
  p->trace = memory == nullptr ? nullptr : memory->traces + p->id;
  // Each switch and each start looks, or the next one finds out when it must.
  p->meter.next_look = p->meter.next_spawned = 0;
  if (memory == nullptr) return;
  p->trace->current = 0;
  if (was_on) return;  // the ring has its memory, and readers
  p->trace->events.set_memory(memory->slots + p->id * memory->slots_each, memory->slots_each);
}

void trace_switch(processor* p, const machine* m, const goroutine* next, departure how) noexcept {
  run_trace& trace = *p->trace;
  if (trace.current == next->id) return;  // noted when its machine got the processor
  add_run(trace, next, m == nullptr ? std::uint8_t{no_run} : end_of(m->g, how));
}

void trace_leave(processor* p, const goroutine* leaving, departure how) noexcept {
  if (p->trace->current == 0 || how == departure::none) return;
  add_leave(*p->trace, end_of(leaving, how));
}

void trace_yield_alone(processor* p, const goroutine* g) noexcept {
  add_leave(*p->trace, yielded);
  add_run(*p->trace, g, no_run);
}

void trace_acquire(processor* p, const machine* m) noexcept {
  add(*p->trace, platform::cycle_counter(), {trace_kind::machine, 0, m->id});
  if (m->g != nullptr) add_run(*p->trace, m->g, no_run);
}

void trace_release(processor* p, const machine* m) noexcept {
  if (p->trace->current == 0) return;
  switch (m->g->status.get()) {
    case parts::status::waiting:
      return add_leave(*p->trace, static_cast<std::uint8_t>(m->g->reason));
    case parts::status::runnable: return add_leave(*p->trace, preempted);
    case parts::status::dead: return add_leave(*p->trace, ended);
    default: return add_leave(*p->trace, m->border.call() != 0 ? in_call : was_asleep);
  }
}

void trace_ready(processor* p, const goroutine* g) noexcept {
  add(*p->trace, platform::cycle_counter(), {trace_kind::ready, 0, g->id});
}

void trace_spawn(processor* p, const goroutine* g) noexcept {
  make_known(*p->trace, g);
  add(*p->trace, platform::cycle_counter(), {trace_kind::spawn, 0, g->id});
}

void trace_note(processor* p, trace_kind kind, std::uint64_t task, std::string_view text) noexcept {
  run_trace& trace = *p->trace;
  text = text.substr(0, base::bytes_kept(text, longest_trace_text));
  const auto bytes = static_cast<std::uint8_t>(text.size());
  trace.events.put(0, platform::cycle_counter(), trace_word{kind, bytes, trace.current}.bits());
  trace.events.put(1, task, trace_word{trace_kind::text, 0, 0}.bits());
  trace.events.publish(2 + put_text(trace, 2, text));
}

void trace_name(processor* p, const goroutine* g) noexcept { add_name(*p->trace, g); }

}  // namespace sley::rt
