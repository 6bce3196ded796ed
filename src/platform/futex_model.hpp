// The kernel's side of futex(2) for model builds: the comparison and going to sleep are one step for
// those who wake, and only a wake ends the sleep. All words share one queue, so a wake reaches every
// sleeper; the kernel permits that (spurious wake-ups), and it never hides a lost one, as each sleeper
// looks at its own word again.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::platform {

struct model_kernel {
  rl::mutex queue_lock;
  rl::condition_variable sleepers;
};

// Made anew by each execution of a model.
inline model_kernel* kernel = nullptr;

inline void futex_wait(detail::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t) {
  kernel->queue_lock.lock($);
  // The kernel orders its read after everything before the call, as a wake does on its side.
  rl::atomic_thread_fence(rl::mo_seq_cst, $);
  if (word.load_relaxed() == expected) kernel->sleepers.wait(kernel->queue_lock, $);
  kernel->queue_lock.unlock($);
}

inline std::int64_t monotonic_ns() { return 0; }

inline void futex_wake(detail::atomic<std::uint32_t>&, int) {
  kernel->queue_lock.lock($);
  rl::atomic_thread_fence(rl::mo_seq_cst, $);
  kernel->sleepers.notify_all($);
  kernel->queue_lock.unlock($);
}

}  // namespace sley::platform
