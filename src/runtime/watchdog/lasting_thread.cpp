// One note hands a call to the thread, one call at a time, and another note reports its end: writes
// before a wake are seen after the sleep (NT-1). The thread is made by the template thread, so that
// it inherits nothing from a thread on which user code runs.
#include "runtime/watchdog/lasting_thread.hpp"

#include "parts/note.hpp"
#include "platform/os.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

struct lasting_thread {
  bool is_there = false;              // [owner] by the one caller at a time
  detail::atomic<bool> is_wanted;     // relaxed: the template's note orders it
  int error = 0;                      // of making the thread; written before `done` is woken
  void (*function)(void*) = nullptr;  // written before `work` is woken
  void* argument = nullptr;           // likewise
  parts::note work;                   // wakes the thread, any number of times
  parts::note done;                   // wakes the caller
};
lasting_thread lasting;

void lasting_main(void*) {
  for (;;) {
    lasting.work.sleep();
    lasting.work.restart();
    lasting.function(lasting.argument);
    lasting.done.wake();
  }
}

void wait_for_end() noexcept {
  lasting.done.sleep();
  lasting.done.clear();
}

int make() noexcept {
  lasting.is_wanted.store_relaxed(true);
  sched.threads.template_note.wake();
  wait_for_end();
  lasting.is_there = lasting.error == 0;
  return lasting.error;
}

}  // namespace

bool has_own_thread() noexcept {
  const machine* m = this_machine();
  if (m == nullptr || m->is_foreign) return true;
  return m->locks > (m->has_left_call ? 1U : 0U);
}

int call_on_lasting_thread(void (*f)(void*), void* arg) noexcept {
  if (!lasting.is_there) {
    if (const int error = make(); error != 0) return error;
  }
  lasting.function = f;
  lasting.argument = arg;
  lasting.work.wake();
  wait_for_end();
  return 0;
}

void make_lasting_thread_if_wanted() noexcept {
  if (!lasting.is_wanted.load_relaxed()) return;
  lasting.is_wanted.store_relaxed(false);
  lasting.error = platform::create_thread(&lasting_main, nullptr, "sley lasting");
  if (lasting.error == 0) sched.threads.lasting.add_relaxed(1);
  lasting.done.wake();
}

}  // namespace sley::rt
