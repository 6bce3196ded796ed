// The memory that a goroutine's stack is in.
#pragma once

#include "platform/unwind/own_process.hpp"
#include "runtime/state/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

// The goroutine's stack, to look at while the goroutine waits or on its own thread; empty for null
// and for a goroutine on a thread's stack.
inline platform::own_stack stack_of(const goroutine* g) noexcept {
  if (g == nullptr || g->stack == nullptr) return {};
  return {reinterpret_cast<std::uintptr_t>(g->stack->low),
          reinterpret_cast<std::uintptr_t>(g->stack->top)};
}

}  // namespace sley::rt
