// For models of src/sync: one heap with room for one timer, which fires when a thread of the model
// calls fire_timer().
#pragma once

#include <sley/detail/lock.hpp>

#include "runtime/queue/ready.hpp"

#include <cstdint>

namespace sley::rt {

inline constexpr std::int64_t never = INT64_MAX;

struct timer {
  goroutine* (*fire)(timer* t, std::int64_t now_ns) noexcept = nullptr;
};

struct timer_set {
  detail::lock lock;
  timer* armed = nullptr;  // [lock: lock]
};

// Made anew by each execution that has timers, which names it here.
inline timer_set* timers = nullptr;

inline bool add_timer(timer* t, std::int64_t) noexcept {
  const detail::lock_guard guard(timers->lock);
  RL_ASSERT(timers->armed == nullptr);
  timers->armed = t;
  return true;
}

inline bool remove_timer(timer* t) noexcept {
  if (t->fire == nullptr) return false;  // never armed
  const detail::lock_guard guard(timers->lock);
  return std::exchange(timers->armed, nullptr) == t;
}

inline void fire_timer() noexcept {
  goroutine* g = nullptr;
  {
    const detail::lock_guard guard(timers->lock);
    if (timer* t = std::exchange(timers->armed, nullptr)) g = t->fire(t, 1);
  }
  if (g != nullptr) ready(g);
}

}  // namespace sley::rt
