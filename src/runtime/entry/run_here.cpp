// run_options::on_this_thread: the main goroutine runs on the thread that calls run(), and is
// locked to it, so the thread waits whenever the goroutine does.
#include "base/check.hpp"
#include "platform/exception_state.hpp"
#include "platform/fault.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/entry/foreign.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/exit.hpp"
#include "runtime/run/pause.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/state/family.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace sley::rt {

namespace {

// Inside. The goroutine has the thread and a processor after.
void begin_main(machine* m, goroutine* g) noexcept {
  const platform::unseen unseen;
  g->status.transition(parts::status::idle, parts::status::runnable);
  sched.spawned.add_relaxed(1);
  m->is_foreign = false;
  m->g = g;
  m->last_p = nullptr;
  attach_thread(m);
  bind_to_thread(m, g);
  sched.queue.push_back(g);
  wake_if_needed();
  sleep_until_turn(m, g);
}

// Inside. The thread is foreign again.
void end_main(machine* m, goroutine* g) noexcept {
  const platform::unseen unseen;
  detach_thread(m);
  g->status.transition(parts::status::running, parts::status::dead);
  count(m->p->figures.finished);
  processor* p = release_p(m);
  m->g = m->self;
  m->is_foreign = true;
  m->locks = 1;
  m->user_locks = 0;
  give_record(m, g);
  pause();
  hand_off_p(p);
}

// As goroutine_main's, with the thread's own stack. False: it was unwound by exit(), whose object
// is null, though the ABI has it caught by reference. An exception gets here if a caller of run()
// catches it.
__attribute__((noinline, no_sanitize("null"))) bool run_main_task(goroutine* g,
                                                                  const detail::task_type& type,
                                                                  void* callable,
                                                                  std::exception_ptr& error) {
  try {
    platform::call_main(type.run, callable);
  } catch (const abi::__forced_unwind&) {
    exit_arrives(g);
    return false;
  } catch (...) {
    error = std::current_exception();
  }
  return true;
}

// The main goroutine is gone, and run() does not return: its thread has no more use.
[[noreturn]] void wait_for_ever(machine* m) noexcept {
  const platform::unseen unseen;
  processor* p = release_p(m);
  m->g->reason = wait::goexit;
  m->g->waits_for = nullptr;
  m->g->status.transition(parts::status::running, parts::status::waiting);
  count(p->figures.finished);
  hand_off_p(p);
  m->waits.store_release(true, "DL-2");
  for (;;) {
    m->note.sleep();
    m->note.clear();
  }
}

}  // namespace

void run_here(const detail::task_type& type, void* callable) {
  platform::use_alternate_signal_stack();
  std::unique_ptr<goroutine_extra> extra;
  if (const heritage own = heritage_of_caller(); own.is_any()) {
    extra = std::make_unique<goroutine_extra>();
    extra->passed_on = own;
  }
  machine* m = enter();
  goroutine* g = take_record(m);
  if (g == nullptr) {
    leave(m);
    throw std::bad_alloc();
  }
  g->extra.store_release(extra.release(), "EX-1");
  g->id = main_goroutine_id;
  g->noted_locks = {};
  begin_main(m, g);
  leave(m);
  std::exception_ptr error;
  const bool has_returned = run_main_task(g, type, callable, error);
  end_extra(g);
  enter();
  if (!has_returned) wait_for_ever(m);
  end_main(m, g);
  leave(m);
  wait_for_last_words();
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

}  // namespace sley::rt
