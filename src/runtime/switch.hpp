// The switch between stacks, with everything that must be told or moved. Inlined into the functions
// that switch (see platform/context.hpp); after each of them the caller is on `to`'s side of the world
// until it is switched back to.
#pragma once

#include "base/check.hpp"
#include "platform/context.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/machine.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

// What the side that was switched to does first.
[[gnu::always_inline]] inline void run_after_switch(machine* m) noexcept {
  const after_switch after = m->after;
  if (after.action != nullptr) {
    m->after.action = nullptr;
    after.action(after.g, after.arg);
  }
}

// From the running goroutine to another. The machine's after_switch is set already.
[[gnu::always_inline]] inline void switch_goroutines(machine* m, goroutine* from,
                                                     goroutine* to) noexcept {
  m->g = to;
  from->exceptions = *m->thread_exceptions;
  *m->thread_exceptions = to->exceptions;
  platform::fiber_state& own = from->stack->fiber;
  platform::before_switch(&own, to->stack->fiber);
  platform::switch_context(from->context, to->context);
  platform::after_switch(own);
  run_after_switch(current_machine());
}

// From the running goroutine to the machine's own stack.
[[gnu::always_inline]] inline void switch_to_machine(machine* m, goroutine* from) noexcept {
  m->g = nullptr;
  from->exceptions = *m->thread_exceptions;
  *m->thread_exceptions = {};
  platform::fiber_state& own = from->stack->fiber;
  platform::before_switch(&own, m->fiber);
  platform::switch_context(from->context, m->context);
  platform::after_switch(own);
  run_after_switch(current_machine());
}

// From the machine's own stack to a goroutine, which may well come back as another.
[[gnu::always_inline]] inline void switch_from_machine(machine* m, goroutine* to) noexcept {
  m->g = to;
  *m->thread_exceptions = to->exceptions;
  platform::before_switch(&m->fiber, to->stack->fiber);
  platform::switch_context(m->context, to->context);
  platform::after_switch(m->fiber);
  run_after_switch(m);
}

// Leaves a stack for good. `scratch`, on that stack, takes what nobody will read.
[[noreturn, gnu::always_inline]] inline void leave_stack(machine* m, platform::context& scratch,
                                                         goroutine* to) noexcept {
  m->g = to;
  *m->thread_exceptions = to != nullptr ? to->exceptions : platform::exception_state{};
  platform::before_switch(nullptr, to != nullptr ? to->stack->fiber : m->fiber);
  platform::switch_context(scratch, to != nullptr ? to->context : m->context);
  base::fatal("sley: a dead goroutine was resumed");
}

}  // namespace sley::rt
