// Why a goroutine waits, in Go's words.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace sley::rt {

using wait_reason = const char*;

namespace wait {
inline constexpr wait_reason chan_receive = "chan receive";
inline constexpr wait_reason chan_send = "chan send";
inline constexpr wait_reason chan_receive_nil = "chan receive (nil chan)";
inline constexpr wait_reason chan_send_nil = "chan send (nil chan)";
inline constexpr wait_reason select = "select";
inline constexpr wait_reason select_no_cases = "select (no cases)";
inline constexpr wait_reason sleep = "sleep";
inline constexpr wait_reason mutex_lock = "sync.Mutex.Lock";
inline constexpr wait_reason shared_mutex_lock = "sync.RWMutex.Lock";
inline constexpr wait_reason shared_mutex_lock_shared = "sync.RWMutex.RLock";
inline constexpr wait_reason condition_wait = "sync.Cond.Wait";
inline constexpr wait_reason semaphore_acquire = "semaphore acquire";
inline constexpr wait_reason barrier_wait = "barrier wait";
inline constexpr wait_reason once_wait = "once wait";
inline constexpr wait_reason wait_group_wait = "sync.WaitGroup.Wait";
inline constexpr wait_reason future_wait = "future wait";
inline constexpr wait_reason io = "IO wait";
inline constexpr wait_reason io_lock = "IO wait (lock)";
inline constexpr wait_reason io_close = "IO wait (close)";
inline constexpr wait_reason blocking_limit = "blocking limit";
inline constexpr wait_reason set_max_procs = "GOMAXPROCS";
inline constexpr wait_reason snapshot = "taking a snapshot";
inline constexpr wait_reason tracing = "switching the tracer";
inline constexpr wait_reason goexit = "goexit";
}  // namespace wait

// Does such a wait end by what other goroutines or threads of the program do? The others are for
// time, for the kernel and for the scheduler. Texts are compared, because a text may have several
// addresses.
inline bool is_for_others(wait_reason reason) noexcept {
  constexpr std::string_view not_for_others[] = {wait::sleep,    wait::io,      wait::set_max_procs,
                                                 wait::snapshot, wait::tracing, wait::goexit};
  return std::ranges::find(not_for_others, reason) == std::end(not_for_others);
}

}  // namespace sley::rt
