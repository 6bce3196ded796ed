// A goroutine gets its stack, and gives it back; runnable goroutines for which there is no memory.
#pragma once

#include "parts/stack_pool.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

namespace sley::rt {

bool bind_stack(machine* m, goroutine* g) noexcept;  // [inside] false: g waits for memory
// Binds a stack from the processor's cache. False if the cache is empty or g needs another size.
bool bind_cached_stack(machine* m, goroutine* g) noexcept;
// Keeps s for the next goroutine of this processor; the caller may still be on s. False if
// goroutines wait for a stack or s has a size of its own: give_stack() it after leaving it.
// [inside]
[[nodiscard]] bool keep_stack(machine* m, parts::stack* s) noexcept;
void give_stack(parts::stack* s) noexcept;  // [inside] no thread is on s
void flush_stacks(processor* p) noexcept;   // moves p's free stacks to the shared pool. [inside]
// Makes one goroutine that waits for a stack runnable, if a stack is free. [inside, or sysmon]
void help_stackless() noexcept;

}  // namespace sley::rt
