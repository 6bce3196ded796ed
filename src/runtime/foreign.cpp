// Threads that the runtime did not make. Such a thread may use everything: it has a machine of its
// own, which never holds a processor, and a goroutine record that stands for it in queues of
// waiters. Where a goroutine would park, the thread sleeps. From Go's extra Ms (needm), which go
// further: there the thread needs a P, for it runs Go code, which a thread of C++ does not need.
#include "base/check.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "runtime/enter.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <pthread.h>

#include <new>

namespace sley::rt {

namespace {

pthread_key_t thread_end_key;

// The thread ends: its machine is used again for another. A destructor of a thread_local that runs
// later still, and uses the library, gets a new one.
void forget_thread(void* arg) {
  auto* m = static_cast<machine*>(arg);
  platform::set_current_machine(nullptr);
  give_machine(m);
}

goroutine* make_self(machine* m) noexcept {
  goroutine* g = take_record(m);
  if (g == nullptr) return nullptr;
  g->is_foreign = true;
  g->thread_note = &m->note;
  g->status.transition(parts::status::idle, parts::status::runnable);
  g->status.transition(parts::status::runnable, parts::status::running);
  return g;
}

}  // namespace

[[gnu::noinline]] machine* adopt_foreign_thread() noexcept {
  static const bool has_key = [] {
    boot();
    return pthread_key_create(&thread_end_key, &forget_thread) == 0;
  }();
  machine* m = new_machine();
  SLEY_CHECK(m != nullptr, "there is memory for a thread's record");
  m->is_foreign = true;
  if (m->self == nullptr) m->self = make_self(m);
  SLEY_CHECK(m->self != nullptr, "there is memory for a thread's record");
  m->g = m->self;
  m->thread_exceptions = platform::thread_exception_state();
  m->attention.store_relaxed(true);  // it looks whether the runtime is paused
  platform::set_current_machine(m);
  if (has_key) pthread_setspecific(thread_end_key, m);
  return m;
}

}  // namespace sley::rt
