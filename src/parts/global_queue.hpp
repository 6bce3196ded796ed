// The queue that all processors share: a locked list, taken from in batches.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/intrusive_queue.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

template <class T, T* T::* Next>
class global_queue {
 public:
  using list = base::intrusive_queue<T, Next>;

  void push_back(T* element) noexcept {
    detail::lock_guard guard(lock_);
    elements_.push_back(element);
    publish_size();
  }

  void append(list&& elements) noexcept {
    detail::lock_guard guard(lock_);
    elements_.append(static_cast<list&&>(elements));
    publish_size();
  }

  // Queues `element` and takes it again, if nobody else is there. False, and nothing happened, if
  // somebody is.
  bool rotate_if_empty(T* element) noexcept {
    detail::lock_guard guard(lock_);
    if (!elements_.is_empty()) return false;
    elements_.push_back(element);
    return elements_.pop_front() == element;
  }

  T* pop() noexcept {
    detail::lock_guard guard(lock_);
    T* element = elements_.pop_front();
    publish_size();
    return element;
  }

  // A fair share of what is there: size / procs + 1, at most `most`.
  list take_share(std::uint32_t procs, std::size_t most) noexcept {
    list share;
    detail::lock_guard guard(lock_);
    std::size_t n = elements_.size() / procs + 1;
    if (n > most) n = most;
    for (; n > 0 && !elements_.is_empty(); --n) share.push_back(elements_.pop_front());
    publish_size();
    return share;
  }

  // Without the lock, so a moment's figure. Whoever relies on it for "nothing there" has a barrier
  // between what it announced and this (WG-1).
  std::size_t size() const noexcept { return size_.load_relaxed(); }
  bool is_empty() const noexcept { return size() == 0; }

 private:
  void publish_size() noexcept { size_.store_relaxed(elements_.size()); }

  mutable detail::lock lock_;
  list elements_;                     // [lock: lock_]
  detail::atomic<std::size_t> size_;  // written under lock_
};

}  // namespace sley::parts
