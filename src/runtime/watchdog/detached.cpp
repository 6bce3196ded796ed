// Machines that run a goroutine without a processor. One that returns from its call and enters the
// runtime needs no attention. One that computes is stopped until it is its turn.
#include "runtime/watchdog/detached.hpp"

#include "platform/os.hpp"
#include "runtime/run/netpoll.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/preempt.hpp"
#include "runtime/watchdog/thread_blocks.hpp"

namespace sley::rt {

namespace {

constexpr int looks_at_once = 64;  // each costs a system call
// A detached machine may use this part of a time slice. A goroutine that only returns from its call
// and enters the runtime needs less.
constexpr std::int64_t tolerated_parts = 10;

// A machine in an announced call is not detached: it may compute or sleep as long as it likes, and
// asks for a processor on its way back.
bool runs_without_p(const machine* m) noexcept {
  return (m->border.attention() & parts::border::lost) != 0 && m->border.call() == 0;
}

void stop_if_it_computes(machine* m) noexcept {
  const std::int64_t cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  const std::int64_t tolerated_ns = debug_options().slice_ns / tolerated_parts;
  if (cpu_ns >= 0 && cpu_ns - m->detached.cpu_ns < tolerated_ns) return;
  if (runs_without_p(m)) interrupt(m);  // it may have got a processor meanwhile
}

}  // namespace

void detached_list::add(machine* m) noexcept {
  m->detached.cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  if (m->detached.is_listed) return;
  m->detached.is_listed = true;
  m->detached.next = first_;
  first_ = m;
}

// Adds the machines that threads other than sysmon have detached.
void detached_list::add_new() noexcept {
  if (!sched.sysmon.new_detached.is_any()) return;
  sched.sysmon.new_detached.take();
  for (machine* m : sched.machines) {
    if (runs_without_p(m)) add(m);
  }
}

// The machines of the batch move behind the others.
void detached_list::watch() noexcept {
  add_new();
  machine** link = &first_;
  machine* seen = nullptr;
  for (int left = looks_at_once; left > 0 && *link != nullptr; --left) {
    machine* m = *link;
    *link = m->detached.next;
    if (!runs_without_p(m)) {
      m->detached.is_listed = false;
      end_thread_block_in_call(m);
      continue;
    }
    report_thread_block_if_long(m);
    if (debug_options().async_preempt && !sched.gate.is_halted()) stop_if_it_computes(m);
    m->detached.next = seen;
    seen = m;
  }
  while (*link != nullptr) link = &(*link)->detached.next;
  *link = seen;
}

}  // namespace sley::rt
