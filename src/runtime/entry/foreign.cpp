// Threads that the runtime did not make. Such a thread may use everything: it has a machine of its
// own, which never holds a processor, and a goroutine record that stands for it in queues of
// waiters. Where a goroutine would park, the thread sleeps. From Go's extra Ms (needm), which go
// further: there the thread needs a P, because it runs Go code. A C++ thread needs none.
#include "runtime/entry/foreign.hpp"

#include "base/check.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "platform/fault.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/boot.hpp"
#include "runtime/run/exit.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

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
  const platform::unseen unseen;
  platform::set_current_machine(nullptr);
  detach_thread(m);
  give_machine(m);
  detail::light_barrier("DL-1");
  if (sched.sysmon.awaits_foreigners.load_relaxed()) wake_sysmon();  // DL-1
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
  const platform::unseen unseen;
  machine* m = new_machine();
  SLEY_CHECK(m != nullptr, "there is memory for a thread's record");
  m->is_foreign = true;
  m->locks = 1;
  if (m->self == nullptr) m->self = make_self(m);
  SLEY_CHECK(m->self != nullptr, "there is memory for a thread's record");
  forget_former_user(*m->self);
  m->self->noted_locks = {};
  m->g = m->self;
  m->thread_exceptions = platform::thread_exception_state();
  m->border.leave();
  m->border.raise(parts::border::stop);  // it looks whether the runtime is paused
  platform::set_current_machine(m);
  if (has_key) pthread_setspecific(thread_end_key, m);
  return m;
}

}  // namespace sley::rt
