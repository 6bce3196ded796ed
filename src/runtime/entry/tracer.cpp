

#include "runtime/entry/tracer.hpp"

#include "base/print.hpp"
#include "base/published.hpp"
#include "runtime/entry/boot.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/world.hpp"

namespace sley::rt {

namespace {

base::published<recorder_start> start_of_recorder;

// No machine uses a processor, so sysmon owns all of them. The lock orders the idle ones.
template <class F>
void for_each_processor(F f) {
  detail::lock_guard guard(sched.lock);
  const std::uint32_t procs = sched.made_procs.read_relaxed();  // only this thread changes it
  for (std::uint32_t i = 0; i < procs; ++i) f(&sched.processors[i]);
}

void switch_on(const trace_memory* memory) {
  sched.trace = memory;
  sched.is_traced.store_relaxed(true);
  for_each_processor([memory](processor* p) {
    set_trace(p, memory);
    const machine* m = p->m.read_relaxed();  // the machine is shut out
    if (m != nullptr) trace_acquire(p, m);
  });
}

void switch_off(const trace_memory*) {
  sched.is_traced.store_relaxed(false);
  for_each_processor([](processor* p) { set_trace(p, nullptr); });
  sched.trace = nullptr;
}

struct switch_request : world_request {
  switch_request(void (*how)(const trace_memory*), const trace_memory* what) noexcept
      : world_request{&switch_request::serve}, f(how), memory(what) {}

  static void serve(world_request* r) noexcept {
    with_world_stopped(
        [](void* arg) {
          auto* self = static_cast<switch_request*>(arg);
          self->f(self->memory);
        },
        r);
  }

  void (*f)(const trace_memory*);
  const trace_memory* memory;
};

void do_stopped(void (*f)(const trace_memory*), const trace_memory* memory) {
  switch_request r(f, memory);
  enter();
  ask_sysmon(r, wait::tracing);
  leave();
}

// The calling goroutine's processor, if it notes what happens; else null.
processor* traced_processor(const machine* m) noexcept {
  return m->is_foreign || m->p == nullptr || m->p->trace == nullptr ? nullptr : m->p;
}

}  // namespace

void start_tracing(const trace_memory& memory) { do_stopped(&switch_on, &memory); }
void stop_tracing() { do_stopped(&switch_off, nullptr); }

void set_recorder_start(recorder_start start) noexcept { start_of_recorder.publish(start); }

void start_recorder_of_setting() noexcept {
  boot();  // which reads the settings
  if (debug_options().flight[0] == '\0') return;
  if (const recorder_start start = start_of_recorder.read()) return start();
  base::line_writer()
      .text("sley: SLEYDEBUG=flight ignored: the recorder is not in this program, because it is ")
      .text("linked with libsley.a and does not use sley::debug::trace\n")
      .flush(2);
  set_recorder_start([]() noexcept {});  // that is said once
}

void note_in_trace(trace_kind kind, std::uint64_t task, std::string_view text) noexcept {
  if (!sched.is_traced.load_relaxed()) return;
  machine* m = enter();
  if (processor* p = traced_processor(m)) trace_note(p, kind, task, text);
  leave(m);
}

void note_name_in_trace() noexcept {
  if (!sched.is_traced.load_relaxed()) return;
  machine* m = enter();
  if (processor* p = traced_processor(m)) trace_name(p, m->g);
  leave(m);
}

}  // namespace sley::rt
