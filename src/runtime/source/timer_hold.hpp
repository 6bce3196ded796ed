// Several changes to a timer in one step.
#pragma once

#include "platform/unseen.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/state/processor.hpp"

#include <cstdint>

namespace sley::rt {

// Requires the set's lock.
inline void publish_first(timer_set& set) noexcept {
  set.first_ns.store_relaxed(set.heap.is_empty() ? never : set.heap.first_when_ns());
}

// Requires the set's lock, and releases it. A timer for `when_ns` has just been inserted.
inline void publish_and_release(timer_set& set, std::int64_t when_ns) noexcept {
  const bool is_first = when_ns < set.first_ns.load_relaxed();  // written under the lock
  publish_first(set);
  set.lock.release();
  if (is_first) timer_armed(when_ns);  // the poller may have to wake earlier
}

// Holds the lock of the timer's heap. While it lives, the timer neither fires nor is changed by
// another thread. The timer must have been added once.
class timer_hold {
 public:
  explicit timer_hold(timer* t) noexcept : t_(t) {
    lock_home(t);
    platform::takes_order(t);
  }
  ~timer_hold() {
    platform::passes_order(t_);
    const platform::unseen unseen;
    if (has_armed_) {
      publish_and_release(*set_, t_->when_ns);
    } else {
      publish_first(*set_);
      set_->lock.release();
    }
  }
  timer_hold(const timer_hold&) = delete;
  timer_hold& operator=(const timer_hold&) = delete;

  bool is_armed() const noexcept {
    const platform::unseen unseen;
    return t_->is_in_heap();
  }
  // True if it was armed.
  bool disarm() noexcept {
    const platform::unseen unseen;
    const bool was_armed = is_armed();
    if (was_armed) set_->heap.remove(t_);
    return was_armed;
  }
  // Arms the timer, armed or not. False if there is no memory; nothing has happened then.
  [[nodiscard]] bool arm(std::int64_t when_ns) noexcept;

 private:
  [[gnu::always_inline]] void lock_home(const timer* t) noexcept {
    const platform::unseen unseen;
    for (;;) {  // ends when the timer has not moved to another heap meanwhile
      processor* home = t->home.read();
      home->timers.lock.acquire();
      set_ = &home->timers;
      if (t->home.read_relaxed() == home) return;
      home->timers.lock.release();
    }
  }

  timer* t_;
  timer_set* set_;  // the timer's home
  bool has_armed_ = false;
};

}  // namespace sley::rt
