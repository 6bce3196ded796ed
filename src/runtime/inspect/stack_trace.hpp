// The program counters of a stack.
#pragma once

#include "base/published.hpp"
#include "platform/os.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

struct goroutine;
struct machine;

// A thread that dumps or traces waits at most this long for another thread that has a CPU, and
// looks at these intervals.
inline constexpr std::int64_t answer_within_ns = 200'000'000;
inline constexpr std::int64_t look_for_answer_ns = 100'000;

struct stack_trace {
  static constexpr int most_frames = 64;

  // Collects the calling thread's frames. No malloc; also in a signal handler.
  void collect() noexcept;
  void drop_innermost(int count) noexcept;
  std::span<const std::uintptr_t> view() const noexcept {
    return {frames, static_cast<std::size_t>(size)};
  }

  std::uintptr_t frames[most_frames];  // return addresses, innermost first
  int size = 0;
  base::published<bool> is_done;
  // Of a trace that a thread was asked for: the goroutine whose stack it was on; null if it was on
  // another stack.
  const goroutine* of = nullptr;
};

// In the signal handler: collects the trace that the machine is asked for. False if it is not
// asked.
bool collect_if_asked(machine* m) noexcept;

// Collects the frames of a goroutine that waits and that nothing wakes meanwhile. False: it has no
// stack yet.
bool look_at_waiting(const goroutine* g, stack_trace& trace) noexcept;

// Collects the frames of a goroutine whose thread sleeps in the kernel, without a signal to it.
// Takes no lock if platform::finds_own_tables_without_lock(). False: the thread runs, or woke
// meanwhile, or is on a stack that the program has made, or the system does not tell. If the thread
// has slept all the time, `at` gets the place where it sleeps.
bool look_at_sleeping(const goroutine* g, const machine* m, stack_trace& trace,
                      platform::sleeping_place& at) noexcept;

// Do the frames of a goroutine that waits, and that nothing wakes meanwhile, lead to the bottom of
// its stack, each further on than the one before? Else the goroutine has gone to a stack that the
// program has made, which may lie anywhere, also among the frames on its own. Takes no lock if
// platform::finds_own_tables_without_lock().
bool is_on_own_stack(const goroutine* g) noexcept;

// Collects the frames of another thread. False: it does not answer.
bool ask_thread(machine* m, stack_trace& trace) noexcept;

// The thread collects its frames at the next signal, and is_done says that it has. It has no frames
// if another thread has asked meanwhile. False: another one's request is there.
[[nodiscard]] bool request_trace(machine* m, stack_trace& trace) noexcept;
// False: the thread has begun to answer. [the thread that has requested it]
[[nodiscard]] bool withdraw_request(machine* m, stack_trace& trace) noexcept;

// Calls run(arg) on a large stack: names of functions take more room than a goroutine's stack may
// have left. Does not call it if there is no memory. One thread at a time.
using stack_errand = void (*)(void* arg);
void run_on_large_stack(stack_errand run, void* arg) noexcept;

}  // namespace sley::rt
