// Which machines run: waking one when work comes, and going to sleep when there is none. From Go's
// wakep, startm and stopm; who must be woken when is decided by parts/wake_gate.hpp.
#include "base/check.hpp"
#include "base/print.hpp"
#include "platform/fault.hpp"
#include "platform/os.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <cerrno>
#include <cstring>

namespace sley::rt {

namespace {

void acquire_p(machine* m, processor* p) noexcept {
  SLEY_CHECK(m->p == nullptr && p->m == nullptr, "a processor has one machine at most");
  m->p = p;
  p->m = m;
}

// Requires sched.lock.
void push_idle(processor* p) noexcept {
  p->next_idle = sched.idle_processors;
  sched.idle_processors = p;
}

// Requires sched.lock. Null if there is none.
processor* pop_idle() noexcept {
  processor* p = sched.idle_processors;
  if (p == nullptr) return nullptr;
  sched.idle_processors = p->next_idle;
  sched.gate.leave_idle();
  return p;
}

// Requires sched.lock. Null if there is none.
machine* pop_idle_machine() noexcept {
  machine* m = sched.idle_machines;
  if (m == nullptr) return nullptr;
  sched.idle_machines = m->next_idle;
  --sched.idle_machine_count;
  return m;
}

void machine_main(void* arg) {
  auto* m = static_cast<machine*>(arg);
  platform::set_current_machine(m);
  platform::use_alternate_signal_stack();
  platform::set_exact_timers();
  platform::adopt_thread_stack(m->fiber);
  m->thread_exceptions = platform::thread_exception_state();
  acquire_p(m, m->next_p);
  schedule(m);
}

// No thread could be made. With others there, work goes on more slowly; without any it is the end.
bool report_no_thread(int error) noexcept {
  static detail::atomic<bool> reported;
  const bool last_hope = sched.machine_count.load_relaxed() == 0;
  bool expected = false;
  if (!last_hope && !reported.cas_relaxed(expected, true)) return false;
  base::line_writer line;
  line.text("sley: can't make another thread: ").text(strerrordesc_np(error));
  line.text(" (threads made: ").dec(std::uint64_t{sched.machine_count.load_relaxed()});
  line.text("; the limit may be RLIMIT_NPROC, the cgroup's pids.max or memory)");
  if (last_hope) base::fatal(line.view());
  line.text("\n").flush(2);
  return false;
}

bool make_machine(processor* p, bool searching) noexcept {
  machine* m = new_machine();
  if (m == nullptr) return report_no_thread(ENOMEM);
  m->next_p = p;
  m->is_searching = searching;
  m->is_foreign = false;
  m->g = nullptr;
  m->in_runtime.store_relaxed(1);
  const int error = platform::create_thread(&machine_main, m);
  if (error != 0) {
    give_machine(m);
    return report_no_thread(error);
  }
  sched.machine_count.add_relaxed(1);
  return true;
}

}  // namespace

void wake_if_needed() noexcept {
  if (__builtin_expect(sched.gate.wake_needed(), 0)) wake_p();
}

void wake_p() noexcept {
  while (sched.gate.claim_search()) {  // ends: each failed claim says whether to try again
    sched.lock.acquire();
    processor* p = pop_idle();
    machine* m = p != nullptr ? pop_idle_machine() : nullptr;
    sched.lock.release();
    if (p == nullptr) {
      if (!sched.gate.claim_failed()) return;
    } else if (m != nullptr) {
      m->next_p = p;
      m->is_searching = true;
      sched.thread_wakes.add_relaxed(1);
      m->note.wake();
      return;
    } else if (make_machine(p, true)) {
      return;
    } else {
      detail::lock_guard guard(sched.lock);
      push_idle(p);
      static_cast<void>(sched.gate.go_idle(true));  // those that run find the work later
      return;
    }
  }
}

bool give_up_p(machine* m) noexcept {
  processor* p = m->p;
  const bool was_searching = m->is_searching;
  m->is_searching = false;
  m->p = nullptr;
  p->m = nullptr;
  sched.lock.acquire();
  push_idle(p);
  const bool paused = sched.gate.go_idle(was_searching);
  sched.lock.release();
  detail::heavy_barrier("WG-1");  // WG-1: between saying so and looking once more
  return paused;
}

bool take_up_search(machine* m) noexcept {
  sched.lock.acquire();
  processor* p = pop_idle();
  sched.lock.release();
  if (p == nullptr) return false;
  acquire_p(m, p);
  sched.gate.search_anyway();
  m->is_searching = true;
  return true;
}

void stop_m(machine* m) noexcept {
  sched.lock.acquire();
  m->next_idle = sched.idle_machines;
  sched.idle_machines = m;
  ++sched.idle_machine_count;
  sched.lock.release();
  m->note.sleep();
  m->note.clear();
  acquire_p(m, m->next_p);
}

}  // namespace sley::rt
