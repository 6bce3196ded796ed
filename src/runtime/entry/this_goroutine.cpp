// A goroutine's calls about itself, and run(): the public verbs of <sley/go.hpp>.
#include <sley/go.hpp>

#include <sley/detail/deadline.hpp>

#include "platform/decisions.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/entry/foreign.hpp"
#include "runtime/entry/main_exception.hpp"
#include "runtime/entry/sleep.hpp"
#include "runtime/entry/tracer.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/exit.hpp"
#include "runtime/run/park.hpp"
#include "runtime/state/family.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/report_name.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace sley {

namespace {

// The calling goroutine; null on a foreign thread.
rt::goroutine* self() noexcept {
  const rt::machine* m = rt::this_machine();
  return m == nullptr || m->is_foreign ? nullptr : m->g;
}

rt::goroutine* self_or_throw(const char* what) {
  rt::goroutine* g = self();
  if (g == nullptr) throw std::logic_error(what);
  return g;
}

}  // namespace

namespace this_goroutine {

std::uint64_t id() noexcept {
  const rt::goroutine* g = self();
  return g == nullptr ? 0 : g->id;
}

std::string_view name() noexcept {
  const rt::goroutine* g = self();
  return g == nullptr ? std::string_view() : g->name();
}

void set_name(std::string_view name) {
  rt::goroutine* g = self_or_throw("sley::this_goroutine::set_name: not on a goroutine");
  rt::change_extra(g, [name](rt::goroutine_extra& extra) { extra.set_name(name); });
  rt::show_in_reports(*g);
  rt::note_name_in_trace();
}

void yield() {
  rt::enter();
  rt::yield();
  rt::leave();
}

void sleep_for(time_span d) {
  if (d.count() > 0) rt::sleep_until(detail::deadline_in(d));
}

void sleep_until(instant t) {
  const std::int64_t when_ns = t.time_since_epoch().count();
  if (when_ns > platform::now_ns()) rt::sleep_until(when_ns);
}

void exit() {
  self_or_throw("sley::this_goroutine::exit: not on a goroutine");
  rt::exit_goroutine();
}

void lock_os_thread() {
  if (self() == nullptr) return;
  const platform::unseen unseen;
  rt::machine* m = rt::this_machine();
  ++m->user_locks;
  ++m->locks;
}

void unlock_os_thread() {
  if (self() == nullptr) return;
  const platform::unseen unseen;
  rt::machine* m = rt::this_machine();
  if (m->user_locks == 0) return;
  --m->user_locks;
  --m->locks;
}

}  // namespace this_goroutine

namespace detail {

namespace {

// An exception gets here if a caller of run() catches it.
struct main_task {
  const task_type* type;
  void* callable;
  std::exception_ptr* error;

  void operator()() && {
    try {
      platform::call_main(type->run, callable);
    } catch (...) {
      *error = std::current_exception();
      if (*error == nullptr) throw;  // no exception, but exit() unwinding the stack
    }
    platform::passes_order(&rt::sched.main.done);
    const platform::unseen unseen;
    rt::current_machine()->main_returned = true;  // finish() wakes run() when all is counted
  }
};

// With a stack as large as main()'s, because programs keep large arrays there.
void start_main(const main_task& task) {
  auto extra = std::make_unique<rt::goroutine_extra>();
  extra->passed_on = rt::heritage_of_caller();
  rt::machine* m = rt::enter();
  rt::goroutine* g = rt::take_record(m);
  if (g != nullptr) {
    extra->stack_bytes = rt::sched.main.stack_bytes;
    g->extra.store_release(extra.release(), "EX-1");
    ::new (g->task) main_task(task);
    g->run = &run_task<main_task>;
    g->id = rt::main_goroutine_id;
    rt::start(m, g);
  }
  rt::leave(m);
  if (g == nullptr) throw std::bad_alloc();
}

}  // namespace

void run_main(const run_options& options, const task_type& type, void* callable) {
  if (self() != nullptr) throw std::logic_error("sley::run: called from a goroutine");
  if (!rt::sched.main.in_run.try_take()) {
    throw std::logic_error("sley::run: another thread is in run()");
  }
  struct finisher {
    ~finisher() { rt::sched.main.in_run.give_back(); }
  } guard;
  rt::start_recorder_of_setting();
  rt::sched.main.run_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (options.on_this_thread) {
    rt::run_here(type, callable);
    return;
  }
  std::exception_ptr error;
  rt::sched.main.done.clear();
  using phase = rt::run_phase;
  rt::sched.main.phase.store_relaxed(phase::begins);  // published with the goroutine
  start_main({&type, callable, &error});
  phase seen = phase::begins;
  rt::sched.main.phase.cas_acq_rel(seen, phase::waits, "MR-1");
  rt::sleep_in_run();
  rt::wait_for_last_words();
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

}  // namespace detail
}  // namespace sley
