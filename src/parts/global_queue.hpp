// The queue that all processors share: a list under a lock, from which machines take batches.
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

  // Puts the elements in front of the queue, in the given order.
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

  T* pop() noexcept {
    detail::lock_guard guard(lock_);
    T* element = elements_.pop_front();
    publish_size();
    return element;
  }

  // Takes the first element if `wanted` accepts it; null otherwise.
  template <class Predicate>
  T* pop_if(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    if (elements_.is_empty() || !wanted(elements_.front())) return nullptr;
    T* element = elements_.pop_front();
    publish_size();
    return element;
  }

  // Returns look(front) under the lock, or look(nullptr) if the queue is empty.
  template <class Look>
  auto look_at_first(Look look) const noexcept {
    detail::lock_guard guard(lock_);
    return look(elements_.is_empty() ? nullptr : elements_.front());
  }

  // Takes the first element that `wanted` accepts; null if there is none.
  template <class Predicate>
  T* pop_first(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    T* element = elements_.remove_first(wanted);
    publish_size();
    return element;
  }

  // Moves the first element that `wanted` accepts to the front.
  template <class Predicate>
  void bring_forward(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    if (T* element = elements_.remove_first(wanted)) elements_.push_front(element);
  }

  // Takes every element that `wanted` accepts.
  template <class Predicate>
  list extract(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    list taken = elements_.extract(wanted);
    publish_size();
    return taken;
  }

  // Takes a fair share of the elements: size / procs + 1, at most `most`. An element that
  // `goes_alone` accepts is returned as the only one or not at all.
  template <class Predicate>
  list take_share(std::uint32_t procs, std::size_t most, Predicate goes_alone) noexcept {
    list share;
    detail::lock_guard guard(lock_);
    for (std::size_t n = share_size(procs, most); n > 0 && !elements_.is_empty(); --n) {
      const bool is_alone = goes_alone(elements_.front());
      if (is_alone && !share.is_empty()) break;
      share.push_back(elements_.pop_front());
      if (is_alone) break;
    }
    publish_size();
    return share;
  }

  // As take_share, but elements that `stays` accepts are passed over and remain in front of the
  // queue. Looks at `most_looked_at` elements at most, because all but one may remain.
  template <class Predicate>
  list take_share_without(std::uint32_t procs, std::size_t most, std::size_t most_looked_at,
                          Predicate stays) noexcept {
    list share;
    list kept;
    detail::lock_guard guard(lock_);
    const std::size_t wanted = share_size(procs, most);
    for (; most_looked_at > 0 && share.size() < wanted && !elements_.is_empty(); --most_looked_at) {
      T* element = elements_.pop_front();
      (stays(element) ? kept : share).push_back(element);
    }
    kept.append(static_cast<list&&>(elements_));
    elements_ = kept;
    publish_size();
    return share;
  }

  // Read without the lock, so the figure may be outdated at once. A machine that relies on 0 has a
  // barrier between what it announced and this load (WG-1).
  std::size_t size() const noexcept { return size_.load_relaxed(); }
  bool is_empty() const noexcept { return size() == 0; }

 private:
  std::size_t share_size(std::uint32_t procs, std::size_t most) const noexcept {
    const std::size_t fair = elements_.size() / procs + 1;
    return fair < most ? fair : most;
  }
  void publish_size() noexcept { size_.store_relaxed(elements_.size()); }

  mutable detail::lock lock_{detail::lock_rank::global_queue};
  list elements_;                     // [lock: lock_]
  detail::atomic<std::size_t> size_;  // written under lock_
};

}  // namespace sley::parts
