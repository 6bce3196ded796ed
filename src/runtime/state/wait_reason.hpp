// Why a goroutine waits.
#pragma once

#include <cstdint>

namespace sley::rt {

enum class wait : std::uint8_t {
  chan_receive,
  chan_send,
  chan_receive_nil,
  chan_send_nil,
  select,
  select_no_cases,
  mutex_lock,
  shared_mutex_lock,
  shared_mutex_lock_shared,
  condition_wait,
  semaphore_acquire,
  barrier_wait,
  once_wait,
  wait_group_wait,
  future_wait,
  io_lock,
  io_close,
  blocking_limit,
  // These end by time, by the kernel or by the scheduler, not by what others do.
  sleep,
  io,
  set_max_procs,
  snapshot,
  tracing,
  long_block,
  goexit,
};

// In Go's words.
constexpr const char* text_of(wait reason) noexcept {
  switch (reason) {
    case wait::chan_receive: return "chan receive";
    case wait::chan_send: return "chan send";
    case wait::chan_receive_nil: return "chan receive (nil chan)";
    case wait::chan_send_nil: return "chan send (nil chan)";
    case wait::select: return "select";
    case wait::select_no_cases: return "select (no cases)";
    case wait::mutex_lock: return "sync.Mutex.Lock";
    case wait::shared_mutex_lock: return "sync.RWMutex.Lock";
    case wait::shared_mutex_lock_shared: return "sync.RWMutex.RLock";
    case wait::condition_wait: return "sync.Cond.Wait";
    case wait::semaphore_acquire: return "semaphore acquire";
    case wait::barrier_wait: return "barrier wait";
    case wait::once_wait: return "once wait";
    case wait::wait_group_wait: return "sync.WaitGroup.Wait";
    case wait::future_wait: return "future wait";
    case wait::io_lock: return "IO wait (lock)";
    case wait::io_close: return "IO wait (close)";
    case wait::blocking_limit: return "blocking limit";
    case wait::sleep: return "sleep";
    case wait::io: return "IO wait";
    case wait::set_max_procs: return "GOMAXPROCS";
    case wait::snapshot: return "taking a snapshot";
    case wait::tracing: return "switching the tracer";
    case wait::long_block: return "waiting for blocked threads";
    case wait::goexit: return "goexit";
  }
  return "";
}

// Does such a wait end by what other goroutines or threads of the program do?
constexpr bool is_for_others(wait reason) noexcept { return reason < wait::sleep; }

// Can nothing end such a wait?
constexpr bool is_for_nothing(wait reason) noexcept {
  return reason == wait::chan_receive_nil || reason == wait::chan_send_nil ||
         reason == wait::select_no_cases;
}

// Is the object that the goroutine waits for a lock? Then it begins with a detail::lock_owner.
constexpr bool is_for_lock(wait reason) noexcept {
  return reason == wait::mutex_lock || reason == wait::shared_mutex_lock ||
         reason == wait::shared_mutex_lock_shared;
}

}  // namespace sley::rt
