// Where a goroutine's stack trace comes from. The stack of a goroutine that waits is read from
// outside, beginning at its saved context, which may be on any stack: a goroutine may park on a
// stack that it has made itself. A goroutine that has a thread (it runs, blocks, or was stopped by
// a signal) is asked for its trace by a signal. Where a signal would disturb a system call, its
// stack is read from outside while its thread sleeps. No wait is very long.
#include "runtime/inspect/stack_trace.hpp"

#include "platform/context.hpp"
#include "platform/fault.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "platform/unseen.hpp"
#include "platform/unwind/own_process.hpp"
#include "platform/unwind/sleeper.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/stack_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sley::rt {

[[gnu::noinline]] void stack_trace::collect() noexcept {
  const machine* m = this_machine();
  const platform::own_stack stack = stack_of(m != nullptr ? m->g : nullptr);
  const platform::stack_walk walk(platform::registers_here(), stack.memory());
  size = static_cast<int>(platform::collect_frames(walk, frames));
}

void stack_trace::drop_innermost(int count) noexcept {
  size = std::max(size - count, 0);
  std::copy_n(frames + count, size, frames);
}

namespace {

// The handler has a stack of its own, below which are the frames of the thread. In the middle of a
// switch these may be another goroutine's than the machine says.
bool is_on_stack_of(const goroutine* g) noexcept {
  const platform::own_stack stack = stack_of(g);
  platform::stack_walk walk(platform::registers_here(), stack.memory());
  do {
    if (stack.holds(walk.frame().get(platform::column_sp))) return true;
  } while (walk.next());
  return false;
}

}  // namespace

bool collect_if_asked(machine* m) noexcept {
  stack_trace* trace = m->trace_to.exchange_acq_rel(nullptr, "TC-1");
  if (trace == nullptr) return false;
  trace->of = is_on_stack_of(m->g) ? m->g : nullptr;
  const platform::own_stack stack = stack_of(m->g);
  const platform::stack_walk walk(platform::registers_here(), stack.memory());
  trace->size = static_cast<int>(platform::collect_interrupted_frames(walk, trace->frames));
  trace->is_done.publish(true);
  return true;
}

namespace {

// ---- a goroutine that has a thread ----

// The wait for a thread that has had no CPU since it was asked, and does not sleep, lasts at most
// this long.
constexpr std::int64_t starving_within_ns = 5'000'000'000;

bool waits_for_a_cpu(std::int32_t thread_id, std::int64_t cpu_ns_before) noexcept {
  return platform::thread_cpu_ns(thread_id) == cpu_ns_before &&
         !platform::is_thread_asleep(thread_id);
}

}  // namespace

bool ask_thread(machine* m, stack_trace& trace) noexcept {
  const std::int32_t thread_id = m->thread_id.load_relaxed();
  const std::int64_t cpu_ns = platform::thread_cpu_ns(thread_id);
  trace.is_done.publish(false);
  if (stack_trace* other = m->trace_to.exchange_acq_rel(&trace, "TC-1")) {
    other->is_done.publish(true);  // without frames
  }
  m->signalled.exchange_acq_rel(true, "TC-2");
  if (!platform::interrupt_thread(thread_id)) {
    m->trace_to.exchange_acq_rel(nullptr, "TC-1");
    return false;
  }
  const std::int64_t asked_ns = platform::monotonic_ns();
  while (!trace.is_done.read()) {
    const std::int64_t waited_ns = platform::monotonic_ns() - asked_ns;
    if (waited_ns > starving_within_ns ||
        (waited_ns > answer_within_ns && !waits_for_a_cpu(thread_id, cpu_ns))) {
      // Either the thread has not begun to answer, and now will not, or it answers in a moment.
      if (m->trace_to.exchange_acq_rel(nullptr, "TC-1") != nullptr) return false;
    }
    platform::sleep_ns(look_for_answer_ns);
  }
  return true;
}

bool request_trace(machine* m, stack_trace& trace) noexcept {
  trace.is_done.publish(false);
  trace.size = 0;
  trace.of = nullptr;
  stack_trace* none = nullptr;
  return m->trace_to.cas_acq_rel(none, &trace, "TC-1");
}

bool withdraw_request(machine* m, stack_trace& trace) noexcept {
  stack_trace* own = &trace;
  return m->trace_to.cas_acq_rel(own, nullptr, "TC-1");
}

bool look_at_waiting(const goroutine* g, stack_trace& trace) noexcept {
  trace.size = 0;
  if (g->stack == nullptr) return false;
  const platform::own_stack stack = stack_of(g);
  const platform::stack_walk walk(platform::registers_of(g->context), stack.memory());
  trace.size = static_cast<int>(platform::collect_frames(walk, trace.frames));
  trace.drop_innermost(
      1);  // the runtime's function that switches away, which does so at several places
  return true;
}

bool look_at_sleeping(const goroutine* g, const machine* m, stack_trace& trace,
                      platform::sleeping_place& at) noexcept {
  trace.size = 0;
  const std::int32_t thread_id = m->thread_id.load_relaxed();
  const std::int64_t cpu_ns = platform::thread_cpu_ns(thread_id);
  platform::sleeping_place place;
  if (!platform::where_thread_sleeps(thread_id, place)) return false;
  const platform::own_stack stack = stack_of(g);
  const std::size_t size =
      platform::collect_sleepers_frames(place, stack.bounds(), stack.memory(), trace.frames);
  if (platform::thread_cpu_ns(thread_id) != cpu_ns) return false;  // it may have left frames
  at = place;
  trace.size = static_cast<int>(size);
  return size != 0;
}

bool is_on_own_stack(const goroutine* g) noexcept {
  const platform::own_stack stack = stack_of(g);
  return leads_to_bottom({platform::registers_of(g->context), stack.memory()}, stack.bounds());
}

namespace {

// ---- a large stack ----

struct errand {
  stack_errand run;
  void* arg;
  platform::context back;
  platform::fiber_state* from;
  platform::fiber_state fiber;
};
errand* current_errand;  // [owner] the printing thread; one at a time

void run_errand() {
  errand* e = current_errand;
  platform::after_switch(e->fiber);
  {
    const platform::unseen unseen;
    platform::call_without_alternate_stack(e->run, e->arg);
  }
  platform::context never_resumed;
  platform::before_switch(nullptr, *e->from);
  platform::switch_context(never_resumed, e->back);
}

}  // namespace

[[gnu::noinline]] void run_on_large_stack(stack_errand run, void* arg) noexcept {
  constexpr std::size_t bytes = 256 * 1024;
  auto* low = static_cast<char*>(platform::map_memory(bytes, false));
  if (low == nullptr) return;  // it would be too much for the present stack
  platform::fiber_state of_thread;
  const machine* m = this_machine();
  const bool is_on_goroutine = m != nullptr && m->g != nullptr && m->g->stack != nullptr;
  if (!is_on_goroutine) platform::adopt_thread_stack(of_thread);
  platform::fiber_state& own = is_on_goroutine ? m->g->stack->fiber : of_thread;
  errand e{run, arg, {}, &own, {}};
  platform::create_fiber(e.fiber, low, bytes);
  current_errand = &e;
  platform::before_switch(&own, e.fiber);
  platform::switch_context(e.back, platform::make_context(low + bytes, &run_errand));
  platform::after_switch(own);
}

}  // namespace sley::rt
