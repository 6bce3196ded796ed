// For models of what is in src/sync: lists of waiters whose waiters sleep on notes, and whose
// deadlines never come. (What deadlines do is in wake_claim_model.cpp.)
#pragma once

#include <sley/detail/wait_list.hpp>

#include "parts/note.hpp"

#include <cstdint>

namespace sley::detail {

struct list_waiter {
  parts::note note;
  list_waiter* next = nullptr;
};

inline void wait_list::push(list_waiter* w, bool) noexcept {
  (first_ == nullptr ? first_ : last_->next) = w;
  last_ = w;
}

inline bool wait_list::park(const char*, bool) {
  list_waiter self;
  push(&self, false);
  lock_.release();
  RL_ASSERT(self.note.sleep());
  return false;
}

inline std::size_t wait_list::choose(std::size_t count, chosen_waiters& chosen) noexcept {
  std::size_t left = count;
  for (; first_ != nullptr && left > 0; --left) {
    list_waiter* w = first_;
    first_ = w->next;
    w->next = nullptr;
    (chosen.first == nullptr ? chosen.first : chosen.last->next) = w;
    chosen.last = w;
  }
  return count - left;
}

inline void wait_list::release_and_wake(const chosen_waiters& chosen) noexcept {
  lock_.release();
  for (list_waiter *w = chosen.first, *next; w != nullptr; w = next) {
    next = w->next;
    w->note.wake();
  }
}

inline bool wait_list::wake_one_and_release() noexcept {
  chosen_waiters chosen;
  const bool is_anybody_chosen = choose(1, chosen) == 1;
  release_and_wake(chosen);
  return is_anybody_chosen;
}

inline void wait_list::wake_all_and_release() noexcept {
  chosen_waiters chosen;
  choose(SIZE_MAX, chosen);
  release_and_wake(chosen);
}

}  // namespace sley::detail

namespace sley::sync {

struct timed_waiter {
  explicit timed_waiter(std::int64_t) {}
  bool park(detail::wait_list& list, const char* reason) {
    list.park(reason);
    return true;
  }
};

}  // namespace sley::sync
