// A thread of the simulation, and how it is put to sleep and woken.
#pragma once

#include "platform/context.hpp"
#include "platform/exception_state.hpp"
#include "platform/sanitizer.hpp"

#include <poll.h>

#include <cstdint>
#include <span>

namespace sley::rt {
struct machine;
}

namespace sley::platform::simulated {

enum class state : std::uint8_t { runnable, asleep, polling, ended };

struct thread {
  simulated::state state = state::runnable;
  bool is_interrupted = false;          // runs the handler when it goes on
  bool is_at_point = false;             // of the program: it does nothing in the runtime
  std::int32_t id = 0;                  // never 0
  std::uint32_t priority = 0;           // of strategy::priorities
  std::uint64_t goroutine = 0;          // at a point
  const std::uint32_t* word = nullptr;  // the futex that it sleeps on, if any
  std::int64_t wake_at_ns = INT64_MAX;  // asleep, polling
  std::uint64_t steps = 0;
  std::uint32_t run_length = 0;  // points since another thread has run
  std::uint32_t lonely_yields = 0;
  std::uint64_t left_at = 0;  // the step of the last switch away from it

  // The state that a switch saves.
  platform::context context;
  fiber_state fiber;
  rt::machine* current_machine = nullptr;
  rt::machine* calling_machine = nullptr;
  exception_state exceptions;
  int error_number = 0;

  void (*entry)(void*) = nullptr;
  void* arg = nullptr;
  void* stack = nullptr;
};

// The thread that is being played.
thread& self() noexcept;
// The clock.
std::int64_t now_ns() noexcept;
// The events that polling threads wait for; all wait for the same.
void note_awaited(std::span<const pollfd> descriptors) noexcept;
// A wait is over, and its caller takes the break that was noted.
void note_waited() noexcept;

// Puts the thread to sleep until it is woken, interrupted, or the clock reaches wake_at_ns.
void sleep_as(simulated::state how, const std::uint32_t* word, std::int64_t wake_at_ns) noexcept;
// Wakes up to `count` threads that sleep on the word.
void wake(const std::uint32_t* word, int count) noexcept;
// Lets other threads run first, if any can; otherwise the clock jumps.
void yield() noexcept;

// The calling thread will play all threads. Its thread_local variables belong to all of them, which
// is no race between them.
void share_thread_locals() noexcept;

// Null if there are as many threads as there can be.
thread* create(void (*entry)(void*), void* arg) noexcept;
thread* find(std::int32_t id) noexcept;
std::uint32_t count() noexcept;

// The hook runs on an interrupted thread, like a signal handler.
void set_interrupt_hook(bool (*hook)() noexcept) noexcept;

}  // namespace sley::platform::simulated
