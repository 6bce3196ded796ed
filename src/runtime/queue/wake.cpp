// Wakes a machine when work is submitted, and puts a machine to sleep when there is none. From Go's
// wakep, startm and stopm. parts/wake_gate.hpp decides whether a machine must be woken.
#include "runtime/queue/wake.hpp"

#include "platform/poller.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"

namespace sley::rt {

void request_threads(std::uint32_t most) noexcept {
  const std::uint32_t threads = own_threads() + sched.threads.machines.load_relaxed();
  if (threads + most > sched.threads.limit.load_relaxed()) most = 1;  // none ahead blows the fuse
  if (sched.threads.requests.add(most)) sched.threads.template_note.wake();
}

namespace {

// No machine sleeps, and a requested thread is on its way, which will look at all queues (TH-1).
bool is_thread_coming() noexcept {
  return sched.threads.requests.is_any_coming() && sched.idle_machine_count.load_relaxed() == 0;
}

// There is an idle processor and no idle machine for it. If the thread of a queued goroutine waits
// for its turn, that thread's machine gets the processor. Otherwise a thread is requested, which
// takes an idle processor when it arrives. The processor stays idle meanwhile: the thread that
// makes threads may block on a lock of libc whose holder needs a processor. True if more machines
// may be woken.
bool manage_without_machine(processor* p) noexcept {
  if (goroutine* g = sched.queue.pop_first_loner()) {
    g->bound_to->next_p = p;
    g->bound_to->note.wake();
    return sched.gate.found_work();  // WG-2
  }
  {
    detail::lock_guard guard(sched.lock);
    push_idle(p);
    sched.gate.go_idle(true).leave_to_new_thread();
  }
  request_threads();
  return false;
}

}  // namespace

void wake_for_work() noexcept {
  if (!is_thread_coming()) wake_p();
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
    } else if (!manage_without_machine(p)) {
      return;
    }
  }
}

bool take_up_search(machine* m) noexcept {
  if (!take_idle_p(m)) return false;
  sched.gate.search_anyway();
  m->is_searching = true;
  return true;
}

bool stop_m(machine* m) noexcept {
  sched.lock.acquire();
  push_idle_machine(m);
  sched.lock.release();
  m->note.sleep();
  m->note.clear();
  return start_again(m);
}

bool start_again(machine* m) noexcept {
  if (m->ends) return false;
  acquire_p(m, m->next_p);
  return true;
}

void see_to_polling() noexcept {
  detail::light_barrier("WG-1");
  if (is_poller_missing()) wake_if_needed();
}

bool wake_dozing_poller() noexcept {
  sched.lock.acquire();
  machine* m = sched.poller.dozing.load_relaxed();  // changed under the lock
  const bool is_taken = m != nullptr && remove_idle_machine(m);
  sched.lock.release();
  if (is_taken) m->note.wake();
  return m != nullptr;
}

void timer_armed(std::int64_t when_ns) noexcept {
  if (when_ns == never) return;
  detail::light_barrier("PL-1");
  const std::int64_t until = sched.poller.until_ns.load_relaxed();  // PL-1: the barriers order it
  if (until == 0) {
    wake_if_needed();
  } else if (when_ns < until && !wake_dozing_poller()) {
    platform::break_wait();
  }
}

}  // namespace sley::rt
