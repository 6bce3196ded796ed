// futex(2) with the model checker as the kernel: a waking thread sees the comparison and the going
// to sleep as one step, and only a wake or a deadline ends the sleep. All words share one queue, so
// a wake reaches every sleeper. The kernel permits that (spurious wake-ups). It never hides a lost
// wake, because each sleeper looks at its own word again. A deadline may pass at any moment of a
// sleep.
#pragma once

#include <sley/detail/atomic.hpp>

#include <algorithm>
#include <cstdint>

namespace sley::platform {

inline constexpr std::int64_t forever = INT64_MAX;

// A second look would only repeat the first, because every schedule is tried.
inline constexpr int tries_before_sleep = 1;
inline constexpr int pauses_between_tries = 1;
inline constexpr int looks_after_nudge = 1;

// Made anew by each execution of a model, which names it in `kernel`.
struct model_kernel {
  rl::atomic<std::uint32_t> sleepers{0};  // only its queue is used
  std::int64_t now_ns = 0;                // moves when a sleep ends by its deadline
};

inline model_kernel* kernel = nullptr;

inline std::int64_t monotonic_ns() { return kernel->now_ns; }

inline void futex_wait(detail::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t deadline_ns) {
  rl::context& c = rl::ctx();
  c.sched();
  // The kernel orders its read after everything before the call, as a wake does on its side.
  c.atomic_thread_fence_seq_cst();
  const bool sleeps = [&] {
    rl::preemption_disabler one_step(c);
    return word.load_relaxed() == expected;
  }();
  if (!sleeps) return;
  const bool has_deadline = deadline_ns != forever;
  if (kernel->sleepers.wait(c, has_deadline, false, $) == rl::unpark_reason_timeout) {
    kernel->now_ns = std::max(kernel->now_ns, deadline_ns);
  }
}

inline void futex_wake(detail::atomic<std::uint32_t>&, int) {
  rl::context& c = rl::ctx();
  c.sched();
  c.atomic_thread_fence_seq_cst();
  kernel->sleepers.wake(c, INT32_MAX, $);
}

}  // namespace sley::platform
