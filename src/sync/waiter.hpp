// A goroutine that waits at a channel: a node on its own stack (Go's sudog).
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::rt {
struct goroutine;
}

namespace sley::sync {

// A goroutine that waits for the first of several things is claimed by exactly one of its wakers.
//
//   SL-1  One waker: wakers claim by compare-and-swap to `claimed`. A waker at a channel holds that
//         channel's lock, under which the goroutine later removes its node unless it was the
//         chosen one, so the state is there while the waker looks.
//   SL-2  Some wakers may come before the goroutine is parked: a timer, the end of a context, and a
//         notifier of a condition variable. Such a waker only claims. The goroutine, which turns
//         `arriving` into `parked` once its context is saved, finds the claim and goes on by
//         itself. cas_acq_rel on both sides. A goroutine that does not park after all asks whether
//         it was chosen: the waker's look at its waiter, before its cas_acq_rel <-> load_acquire in
//         is_chosen.
class wake_claim {
 public:
  // The goroutine will be parked before any waker can see it.
  void start_parked() noexcept { state_.store_relaxed(parked); }
  // A waker may be faster: followed by commit().
  void start_arriving() noexcept { state_.store_relaxed(arriving); }

  // The goroutine's context is saved. False if it has been claimed.
  [[nodiscard]] bool commit() noexcept {
    std::uint32_t seen = arriving;
    return state_.cas_acq_rel(seen, parked, "SL-2");
  }

  // A waker at a channel: true for one of all wakers.
  [[nodiscard]] bool claim() noexcept {
    std::uint32_t seen = parked;
    return state_.cas_acq_rel(seen, claimed, "SL-1");
  }

  // `wake` if the goroutine is parked and the caller must wake it; `will_see` if it will find out
  // on its own, and may be gone at once.
  enum class result { lost, wake, will_see };
  result claim_by_timer() noexcept { return claim_early(timed_out); }
  // A waker at a wait_list.
  result claim_by_waker() noexcept { return claim_early(claimed); }

  // For the goroutine, without commit(): a waker has claimed it, and looks at its waiter no more.
  bool is_chosen() const noexcept { return state_.load_acquire("SL-2") == claimed; }
  // For the goroutine, once it goes on: the timer has claimed it.
  bool has_timed_out() const noexcept {
    return state_.load_relaxed() == timed_out;  // SL-2 has ordered it, or the way it was woken
  }

 private:
  static constexpr std::uint32_t arriving = 0;
  static constexpr std::uint32_t parked = 1;
  static constexpr std::uint32_t claimed = 2;
  static constexpr std::uint32_t timed_out = 3;

  result claim_early(std::uint32_t as) noexcept {
    std::uint32_t seen = state_.load_relaxed();   // the cas decides
    while (seen == arriving || seen == parked) {  // ends: arriving, parked, and then claimed
      const std::uint32_t was = seen;
      if (state_.cas_acq_rel(seen, as, "SL-2")) {
        return was == parked ? result::wake : result::will_see;
      }
    }
    return result::lost;
  }

  detail::atomic<std::uint32_t> state_;  // [atomic SL-1, SL-2]
};

struct chan_waiter {
  chan_waiter* next = nullptr;      // [lock: the channel's]
  chan_waiter* previous = nullptr;  // [lock: the channel's]
  rt::goroutine* g = nullptr;       // [const]
  void* element = nullptr;          // [const] where the value goes, or comes from
  wake_claim* claim = nullptr;      // [const] null: only this channel can wake it
  chan_waiter** chosen = nullptr;   // [const] the waker that claimed stores the chosen waiter here
  bool is_queued = false;           // [lock: the channel's]
  bool success = false;             // set by the waker: a value went over (false: closed)
};

// FIFO of waiters with removal from the middle.
class waiter_queue {
 public:
  // Also without the lock, as a hint: see CH-4.
  bool is_empty() const noexcept { return first_.load_acquire("CH-4") == nullptr; }

  void push(chan_waiter* w) noexcept {
    w->next = nullptr;
    w->previous = last_;
    w->is_queued = true;
    if (last_ != nullptr) {
      last_->next = w;
    } else {
      first_.store_relaxed(w);
    }
    last_ = w;
  }

  void remove(chan_waiter* w) noexcept {
    if (!w->is_queued) return;
    w->is_queued = false;
    if (w->previous != nullptr) {
      w->previous->next = w->next;
    } else {
      first_.store_release(w->next, "CH-4");
    }
    if (w->next != nullptr) {
      w->next->previous = w->previous;
    } else {
      last_ = w->previous;
    }
  }

  // The first waiter that can be claimed, taken out and claimed; null if there is none.
  chan_waiter* claim_first() noexcept {
    while (chan_waiter* w = first_.load_relaxed()) {
      remove(w);
      if (w->claim == nullptr || w->claim->claim()) {
        *w->chosen = w;
        return w;
      }
    }
    return nullptr;
  }

 private:
  detail::atomic<chan_waiter*> first_;  // [lock: the channel's] and a hint for others
  chan_waiter* last_ = nullptr;         // [lock: the channel's]
};

}  // namespace sley::sync
