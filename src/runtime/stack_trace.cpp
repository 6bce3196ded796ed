// Where a goroutine's stack trace comes from. One that waits is unwound on its own stack: we go
// there, look, and come back. One that has a thread (it runs, blocks, or was stopped by a signal)
// is asked for it by a signal. Nobody is waited for very long.
#include "runtime/stack_trace.hpp"

#include "platform/context.hpp"
#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstddef>

namespace sley::rt {

namespace {

constexpr std::size_t room_for_unwinder = 12 * 1024;
// collect(), look_around(), and the runtime's function that switches away, which does so at several
// places.
constexpr int frames_of_a_visit = 3;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* arg) {
  auto* trace = static_cast<stack_trace*>(arg);
  int is_before_instruction = 0;
  const _Unwind_Ptr pc = _Unwind_GetIPInfo(context, &is_before_instruction);
  if (pc == 0 || trace->size == stack_trace::most_frames) return _URC_END_OF_STACK;
  // A return address, as describe() wants it, also where a signal has interrupted.
  trace->frames[trace->size++] = pc + (is_before_instruction != 0 ? 1 : 0);
  return _URC_NO_REASON;
}

}  // namespace

[[gnu::noinline]] void stack_trace::collect() noexcept {
  size = 0;
  _Unwind_Backtrace(&add_frame, this);
}

void stack_trace::drop_innermost(int count) noexcept {
  size = std::max(size - count, 0);
  std::copy_n(frames + count, size, frames);
}

bool collect_if_asked(machine* m) noexcept {
  stack_trace* trace = m->trace_to.exchange_acq_rel(nullptr, "TC-1");
  if (trace == nullptr) return false;
  trace->collect();
  trace->is_done.publish(true);
  return true;
}

namespace {

// ---- a goroutine that waits ----

struct visit {
  platform::context back;
  platform::fiber_state* from;
  stack_trace* trace;
};
visit current_visit;  // [owner] who dumps: one thread at a time

// Runs on the stack of a goroutine that waits, as if the frame in which it waits had called it.
[[gnu::noinline, gnu::force_align_arg_pointer]] void look_around() noexcept {
  platform::fiber_state nothing;
  platform::after_switch(nothing);
  current_visit.trace->collect();
  current_visit.trace->drop_innermost(frames_of_a_visit);
  platform::context nobody_comes_back;
  platform::before_switch(nullptr, *current_visit.from);
  platform::switch_context(nobody_comes_back, current_visit.back);
}

std::size_t free_bytes(const goroutine* g) noexcept {
  const auto* stack_pointer = static_cast<const char*>(g->context.stack_pointer);
  return static_cast<std::size_t>(stack_pointer - g->stack->low);
}

[[gnu::noinline]] void go_and_look(goroutine* g, platform::fiber_state& own,
                                   stack_trace& trace) noexcept {
  platform::context there = g->context;
  auto** top = static_cast<void**>(there.stack_pointer);
  *--top = there.resume_at;  // the return address of the call that never was
  there.stack_pointer = top;
  there.resume_at = reinterpret_cast<void*>(&look_around);
  current_visit.from = &own;
  current_visit.trace = &trace;
  platform::before_switch(&own, g->stack->fiber);
  platform::switch_context(current_visit.back, there);
  platform::after_switch(own);
  // The visit's frames were left without an end.
  platform::reset_stack_memory(g->stack->low, free_bytes(g));
}

bool has_room(const goroutine* g) noexcept { return free_bytes(g) > room_for_unwinder; }

// ---- a goroutine that has a thread ----

// A thread that has had no CPU since it was asked, and is in no sleep that the signal would have
// ended, is waited for so long.
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
  m->trace_to.exchange_acq_rel(&trace, "TC-1");
  m->signalled.store_relaxed(true);
  if (!platform::interrupt_thread(thread_id)) {
    m->trace_to.exchange_acq_rel(nullptr, "TC-1");
    return false;
  }
  const std::int64_t asked_ns = platform::monotonic_ns();
  while (!trace.is_done.read()) {
    const std::int64_t waited_ns = platform::monotonic_ns() - asked_ns;
    if (waited_ns > starving_within_ns ||
        (waited_ns > answer_within_ns && !waits_for_a_cpu(thread_id, cpu_ns))) {
      // Either it has not begun, and will not, or it is at work right now and done in a moment.
      if (m->trace_to.exchange_acq_rel(nullptr, "TC-1") != nullptr) return false;
    }
    platform::sleep_ns(look_for_answer_ns);
  }
  return true;
}

bool look_at_waiting(goroutine* g, platform::fiber_state& own, stack_trace& trace) noexcept {
  trace.size = 0;
  if (g->stack == nullptr || !has_room(g)) return false;
  go_and_look(g, own, trace);
  return true;
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
errand* current_errand;  // [owner] who prints: one thread at a time

void run_errand() {
  errand* e = current_errand;
  platform::after_switch(e->fiber);
  e->run(e->arg, e->fiber);
  platform::context nobody_comes_back;
  platform::before_switch(nullptr, *e->from);
  platform::switch_context(nobody_comes_back, e->back);
}

}  // namespace

[[gnu::noinline]] void run_on_large_stack(stack_errand run, void* arg) noexcept {
  constexpr std::size_t bytes = 256 * 1024;
  auto* low = static_cast<char*>(platform::map_memory(bytes, false));
  if (low == nullptr) return;  // it would be too much for the stack that we are on
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
