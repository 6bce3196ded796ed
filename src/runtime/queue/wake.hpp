// Wakes what work needs: a machine, a thread, the poller. And puts a machine to sleep.
#pragma once

#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

void wake_p() noexcept;         // [inside] starts one searching machine, if one is wanted
void wake_for_work() noexcept;  // as wake_p(), unless a requested thread is coming
// [inside] after publishing work
[[gnu::always_inline]] inline void wake_if_needed() noexcept {
  if (__builtin_expect(sched.gate.wake_needed(), 0)) wake_for_work();
}

// Puts the machine to sleep until it has a processor. False: the thread must end. [own stack]
[[nodiscard]] bool stop_m(machine* m) noexcept;
// As stop_m, for a machine that was taken from the idle ones and is awake.
[[nodiscard]] bool start_again(machine* m) noexcept;
// A machine without a processor takes an idle one and searches. False if there is none. [own stack]
bool take_up_search(machine* m) noexcept;

// Requests one more thread, unless `most` are already requested; near the thread limit one at a
// time. Neither waits nor takes a lock of libc.
void request_threads(std::uint32_t most = 1) noexcept;

// Ensures that a machine polls. [inside] by a thread that has stopped, or given a processor up,
// without looking for work.
void see_to_polling() noexcept;
// Wakes the poller if it dozes. False if it does not.
bool wake_dozing_poller() noexcept;
// After arming the first timer of a heap; `never`: no timer. [inside]
void timer_armed(std::int64_t when_ns) noexcept;

}  // namespace sley::rt
