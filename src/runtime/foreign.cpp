// Threads that the runtime did not make. Such a thread may use everything: it has a machine of its
// own, which never holds a processor, and a goroutine record that stands for it in queues of
// waiters. Where a goroutine would park, the thread sleeps. From Go's extra Ms (needm), which go
// further: there the thread needs a P, because it runs Go code. A C++ thread needs none.
//
// With run_options::on_this_thread the main goroutine runs on the thread and is locked to it, so
// the thread waits whenever the goroutine does.
#include "base/check.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "platform/fault.hpp"
#include "runtime/enter.hpp"
#include "runtime/last_words.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/turn.hpp"

#include <pthread.h>

#include <cxxabi.h>

#include <exception>
#include <new>
#include <utility>

namespace sley::rt {

namespace {

pthread_key_t thread_end_key;

// The thread ends: another thread may use its machine. A destructor of a thread_local that runs
// later still, and uses the library, gets a new machine.
void forget_thread(void* arg) {
  auto* m = static_cast<machine*>(arg);
  end_extra(m->self);
  platform::set_current_machine(nullptr);
  detach_thread(m);
  give_machine(m);
  detail::light_barrier("DL-1");
  if (sched.awaits_foreigners.load_relaxed()) wake_sysmon();  // DL-1
}

goroutine* make_self(machine* m) noexcept {
  goroutine* g = take_record(m);
  if (g == nullptr) return nullptr;
  g->is_foreign = true;
  g->bound_to = m;
  g->status.transition(parts::status::idle, parts::status::runnable);
  g->status.transition(parts::status::runnable, parts::status::running);
  return g;
}

}  // namespace

[[gnu::noinline]] machine* adopt_foreign_thread() noexcept {
  if (sched.has_forked.load_relaxed()) {
    base::fatal("sley: used after fork(): the child may only exec or _exit");
  }
  static const bool has_key = [] {
    boot();
    return pthread_key_create(&thread_end_key, &forget_thread) == 0;
  }();
  machine* m = new_machine();
  SLEY_CHECK(m != nullptr, "there is memory for a thread's record");
  m->is_foreign = true;
  m->locks = 1;
  if (m->self == nullptr) m->self = make_self(m);
  SLEY_CHECK(m->self != nullptr, "there is memory for a thread's record");
  m->g = m->self;
  m->thread_exceptions = platform::thread_exception_state();
  m->border.leave();
  m->border.raise(parts::border::stop);  // it looks whether the runtime is paused
  platform::set_current_machine(m);
  if (has_key) pthread_setspecific(thread_end_key, m);
  return m;
}

namespace {

// Inside. The goroutine has the thread and a processor after.
void begin_main(machine* m, goroutine* g) noexcept {
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
  processor* p = release_p(m);
  m->g->reason = wait::goexit;
  m->g->status.transition(parts::status::running, parts::status::waiting);
  count(p->figures.finished);
  hand_off_p(p);
  m->waits.store_relaxed(true);
  for (;;) {
    m->note.sleep();
    m->note.clear();
  }
}

}  // namespace

void run_here(const detail::task_type& type, void* callable) {
  platform::use_alternate_signal_stack();
  machine* m = enter();
  goroutine* g = take_record(m);
  if (g == nullptr) {
    leave(m);
    throw std::bad_alloc();
  }
  g->id = main_goroutine_id;
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
