

#include "runtime/entry/tracer.hpp"

#include "runtime/entry/enter.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/world.hpp"

namespace sley::rt {

namespace {

// No machine uses a processor, so sysmon owns all of them. The lock orders the idle ones.
template <class F>
void for_each_processor(F f) {
  detail::lock_guard guard(sched.lock);
  const std::uint32_t procs = sched.made_procs.read_relaxed();  // only this thread changes it
  for (std::uint32_t i = 0; i < procs; ++i) f(&sched.processors[i]);
}

void switch_on(void* traces) {
  sched.traces = static_cast<run_trace*>(traces);
  raise_on_all_machines(parts::border::traced);
  for_each_processor([](processor* p) {
    p->trace = sched.traces + p->id;
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
  sched.traces = nullptr;
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

}  // namespace sley::rt
