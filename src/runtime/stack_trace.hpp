// The program counters of a stack.
#pragma once

#include "base/published.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

struct goroutine;
struct machine;

// So long do who dumps and who traces wait for other threads that have a CPU, and look so often.
inline constexpr std::int64_t answer_within_ns = 200'000'000;
inline constexpr std::int64_t look_for_answer_ns = 100'000;

struct stack_trace {
  static constexpr int most_frames = 64;

  // Of the calling thread. No malloc; in a signal handler too.
  void collect() noexcept;
  void drop_innermost(int count) noexcept;
  std::span<const std::uintptr_t> view() const noexcept {
    return {frames, static_cast<std::size_t>(size)};
  }

  std::uintptr_t frames[most_frames];  // return addresses, innermost first
  int size = 0;
  base::published<bool> is_done;
};

// In the signal handler: does as the machine is asked. False if nobody asks.
bool collect_if_asked(machine* m) noexcept;

// Of a goroutine that waits and that nothing wakes meanwhile. False: it has no stack yet.
bool look_at_waiting(const goroutine* g, stack_trace& trace) noexcept;

// Do the frames of a goroutine that waits, and that nothing wakes meanwhile, lead to the bottom of
// its stack, each further on than the one before? Else it has gone to a stack that the program has
// made, which may lie anywhere, also among the frames on its own. Takes no lock if
// may_unwind_without_lock().
bool is_on_own_stack(const goroutine* g) noexcept;

// Does the unwinder find its tables without libc's lock for the list of loaded objects?
bool may_unwind_without_lock() noexcept;

// Of what another thread runs. False: it does not answer.
bool ask_thread(machine* m, stack_trace& trace) noexcept;

// Calls run(arg) on a large stack: names of functions take more than a goroutine's may have left.
// Not at all if there is no memory. One thread at a time.
using stack_errand = void (*)(void* arg);
void run_on_large_stack(stack_errand run, void* arg) noexcept;

}  // namespace sley::rt
