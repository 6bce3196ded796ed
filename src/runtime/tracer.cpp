#include "runtime/tracer.hpp"

#include "runtime/enter.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/world.hpp"

#include "platform/decisions.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

namespace {

run_trace* all_traces = nullptr;  // [stw] null: off

// No machine uses a processor, so sysmon owns all of them. The lock orders the idle ones.
template <class F>
void for_each_processor(F f) {
  detail::lock_guard guard(sched.lock);
  const std::uint32_t procs = sched.made_procs.read_relaxed();  // only this thread changes it
  for (std::uint32_t i = 0; i < procs; ++i) f(&sched.processors[i]);
}

void switch_on(void* traces) {
  all_traces = static_cast<run_trace*>(traces);
  raise_on_all_machines(parts::border::traced);
  for_each_processor([](processor* p) {
    p->trace = trace_of(p->id);
    const machine* m = p->m.read_relaxed();  // the machine is shut out
    if (m != nullptr && m->g != nullptr) trace_begin(p, m, m->g);
  });
}

void switch_off(void*) {
  lower_on_all_machines(parts::border::traced);
  for_each_processor([](processor* p) {
    if (p->trace != nullptr) trace_end(p, "running");
    p->trace = nullptr;
  });
  all_traces = nullptr;
}

struct switch_request : world_request {
  switch_request(void (*how)(void*), run_trace* traces) noexcept
      : world_request{&switch_request::serve}, f(how), arg(traces) {}

  static void serve(world_request* r) noexcept {
    auto* self = static_cast<switch_request*>(r);
    with_world_stopped(self->f, self->arg);
  }

  void (*f)(void*);
  run_trace* arg;
};

void do_stopped(void (*f)(void*), run_trace* traces) {
  switch_request r(f, traces);
  enter();
  ask_sysmon(r, wait::tracing);
  leave();
}

}  // namespace

void start_tracing(run_trace* traces) { do_stopped(&switch_on, traces); }
void stop_tracing() { do_stopped(&switch_off, nullptr); }

run_trace* trace_of(std::uint32_t processor_id) noexcept {
  return all_traces == nullptr ? nullptr : all_traces + processor_id;
}

void trace_begin(processor* p, const machine* m, const goroutine* g) noexcept {
  run_trace& trace = *p->trace;
  run_event* e = trace.events.begin();
  trace.current = e;
  if (e == nullptr) {
    trace.lost.store_relaxed(trace.lost.load_relaxed() + 1);
    return;
  }
  const std::string_view name = g->name();
  *e = {.begin_ns = platform::now_ns(),
        .end_ns = 0,
        .goroutine = g->id,
        .created_at = g->created_at,
        .end = nullptr,
        .machine = m->id,
        .name_size = static_cast<std::uint8_t>(name.size()),
        .name_bytes = {}};
  std::ranges::copy(name, e->name_bytes);
}

void trace_end(processor* p, const char* why) noexcept {
  run_event* e = std::exchange(p->trace->current, nullptr);
  if (e == nullptr) return;
  e->end_ns = platform::now_ns();
  e->end = why;
  p->trace->events.publish();
}

void trace_release(processor* p, const machine* m) noexcept {
  if (p->trace->current == nullptr) return;
  switch (m->g->status.get()) {
    case parts::status::waiting: return trace_end(p, m->g->reason);
    case parts::status::runnable: return trace_end(p, "preempted");
    case parts::status::dead: return trace_end(p, "ended");
    default: return trace_end(p, m->border.call() != 0 ? "syscall" : "asleep in the kernel");
  }
}

}  // namespace sley::rt
