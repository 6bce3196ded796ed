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

  // Before everybody else, in the given order.
  void prepend(list&& elements) noexcept {
    detail::lock_guard guard(lock_);
    elements.append(static_cast<list&&>(elements_));
    elements_ = elements;
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

  // The first, if `wanted` says yes to it; else null.
  template <class Predicate>
  T* pop_if(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    if (elements_.is_empty() || !wanted(elements_.front())) return nullptr;
    T* element = elements_.pop_front();
    publish_size();
    return element;
  }

  // What `look` makes of the first, which nobody takes meanwhile; if there is none, of null.
  template <class Look>
  auto look_at_first(Look look) const noexcept {
    detail::lock_guard guard(lock_);
    return look(elements_.is_empty() ? nullptr : elements_.front());
  }

  // The first that `wanted` says yes to; null if there is none.
  template <class Predicate>
  T* pop_first(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    T* element = elements_.remove_first(wanted);
    publish_size();
    return element;
  }

  // The first that `wanted` says yes to goes before everybody else.
  template <class Predicate>
  void bring_forward(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    if (T* element = elements_.remove_first(wanted)) elements_.push_front(element);
  }

  // All that `wanted` says yes to.
  template <class Predicate>
  list extract(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    list taken = elements_.extract(wanted);
    publish_size();
    return taken;
  }

  // A fair share of what is there: size / procs + 1, at most `most`. Who `goes_alone` comes as the
  // only one or not at all.
  template <class Predicate>
  list take_share(std::uint32_t procs, std::size_t most, Predicate goes_alone) noexcept {
    list share;
    detail::lock_guard guard(lock_);
    std::size_t n = elements_.size() / procs + 1;
    if (n > most) n = most;
    for (; n > 0 && !elements_.is_empty(); --n) {
      const bool is_alone = goes_alone(elements_.front());
      if (is_alone && !share.is_empty()) break;
      share.push_back(elements_.pop_front());
      if (is_alone) break;
    }
    publish_size();
    return share;
  }

  // Without the lock, so a moment's figure. Whoever relies on it for "nothing there" has a barrier
  // between what it announced and this (WG-1).
  std::size_t size() const noexcept { return size_.load_relaxed(); }
  bool is_empty() const noexcept { return size() == 0; }

 private:
  void publish_size() noexcept { size_.store_relaxed(elements_.size()); }

  mutable detail::lock lock_{detail::lock_rank::global_queue};
  list elements_;                     // [lock: lock_]
  detail::atomic<std::size_t> size_;  // written under lock_
};

}  // namespace sley::parts
