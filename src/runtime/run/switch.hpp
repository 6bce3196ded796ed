// The switch between stacks, with everything that must be saved or reported. It is inlined into the
// functions that switch (see platform/context.hpp). A call returns when its stack is switched back
// to.
#pragma once

#include "base/check.hpp"
#include "platform/context.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

// First step on the side that was switched to. The goroutine that has left, if it will come back,
// gets the status `waiting`. Then its action may make it visible to other threads.
[[gnu::always_inline]] inline void run_after_switch(machine* m) noexcept {
  const after_switch after = m->after;
  if (after.action != nullptr) {
    m->after.action = nullptr;
    if (after.g != nullptr) {
      after.g->status.transition(parts::status::running, parts::status::waiting);
    }
    after.action(after.g, after.arg);
  }
}

// Called first by a side that was switched back to, possibly on another thread. `exceptions` is the
// exception state that it had when it left.
[[gnu::always_inline]] inline void come_back(platform::fiber_state& own,
                                             const platform::exception_state& exceptions) noexcept {
  platform::after_switch(own);
  machine* m = current_machine();
  m->variables.forget();
  *m->thread_exceptions = exceptions;
  run_after_switch(m);
}

// Switches from the running goroutine to another. The machine's after_switch is set already.
[[gnu::always_inline]] inline void switch_goroutines(machine* m, goroutine* from,
                                                     goroutine* to) noexcept {
  m->g = to;
  const platform::exception_state exceptions = *m->thread_exceptions;
  platform::fiber_state& own = from->stack->fiber;
  platform::before_switch(&own, to->stack->fiber);
  platform::switch_context(from->context, to->context);
  come_back(own, exceptions);
}

// Switches from the running goroutine to the machine's own stack. The runtime needs no control
// words of its own: on that stack the thread keeps the goroutine's, and the machine notes them.
[[gnu::always_inline]] inline void switch_to_machine(machine* m, goroutine* from) noexcept {
  m->g = nullptr;
  const platform::exception_state exceptions = *m->thread_exceptions;
  platform::fiber_state& own = from->stack->fiber;
  platform::before_switch(&own, m->fiber);
  platform::save_control(from->context.control);
  m->context.control = from->context.control;
  platform::switch_stacks(from->context, m->context);
  come_back(own, exceptions);
}

// Switches from the machine's own stack to a goroutine. Another goroutine may switch back. No
// exception is in flight on the machine's stack.
[[gnu::always_inline]] inline void switch_from_machine(machine* m, goroutine* to) noexcept {
  m->g = to;
  platform::before_switch(&m->fiber, to->stack->fiber);
  platform::load_control(m->context.control, to->context.control);
  platform::switch_stacks(m->context, to->context);
  come_back(m->fiber, {});
}

// Leaves a stack for ever. `scratch`, on that stack, receives the context, which is never read.
[[noreturn, gnu::always_inline]] inline void leave_stack(machine* m, platform::context& scratch,
                                                         goroutine* to) noexcept {
  m->g = to;
  platform::before_last_switch(to != nullptr ? to->stack->fiber : m->fiber);
  platform::save_control(scratch.control);
  if (to != nullptr) {
    platform::load_control(scratch.control, to->context.control);
  } else {
    m->context.control = scratch.control;
  }
  platform::switch_stacks(scratch, to != nullptr ? to->context : m->context);
  base::fatal("sley: a dead goroutine was resumed");
}

}  // namespace sley::rt
