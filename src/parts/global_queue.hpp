// The queue that all processors share: a list under a lock, from which machines take batches.
//
//   operation                     allowed callers
//   push_back_held                the holder of the only processor
//   pop, pop_if_loner, take_...   the holder of a processor; `procs`: how many there are
//   share                         the thread that has stopped the world
//   all others                    any thread
//
// Where there is one processor, only its holder takes elements. So the holder keeps the first
// elements in front_, where it takes and adds them without the lock. Elements that other threads
// have added since go to front_ when the holder looks at the queue next. A loner is an element that
// other threads look for. While the list has one, the holder keeps nothing in front_.
//
// The elements of a share are in the caches of the CPUs that queued them. A walk from link to link
// would take a cache miss for each, one after the other, while others wait for the lock. So the
// queue notes which elements came last, and the walk prefetches ahead of itself.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/intrusive_queue.hpp"
#include "base/prefetch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::parts {

template <class T, T* T::* Next, bool (*IsLoner)(const T*) noexcept>
class global_queue {
 public:
  using list = base::intrusive_queue<T, Next>;

  void push_back(T* element) noexcept {
    detail::lock_guard guard(lock_);
    elements_.push_back(element);
    note_last(element);
    publish_size();
  }

  void push_back_held(T* element) noexcept {
    if (!holds_all(1) || IsLoner(element)) return push_back(element);
    front_.push_back(element);
    publish_front();
  }

  // Puts the elements in front of the queue, in the given order. No holder keeps any: see share().
  void prepend(list&& elements) noexcept {
    detail::lock_guard guard(lock_);
    loners_ += elements.count(IsLoner);
    put_before(static_cast<list&&>(elements));
  }

  void append(list&& elements) noexcept {
    detail::lock_guard guard(lock_);
    for (T* element = elements.front(); element != nullptr; element = element->*Next) {
      note_last(element);
    }
    elements_.append(static_cast<list&&>(elements));
    publish_size();
  }

  T* pop(std::uint32_t procs) noexcept {
    if (holds_all(procs)) {
      T* element = front_.pop_front();
      publish_front();
      return element;
    }
    detail::lock_guard guard(lock_);
    return elements_.is_empty() ? nullptr : take_first();
  }

  // Takes the first element if it is a loner; null otherwise.
  T* pop_if_loner(std::uint32_t procs) noexcept {
    if (holds_all(procs)) return nullptr;
    detail::lock_guard guard(lock_);
    return elements_.is_empty() || !IsLoner(elements_.front()) ? nullptr : take_first();
  }

  // Returns look(front) under the lock, or look(nullptr) if the queue is empty or its first element
  // is no loner.
  template <class Look>
  auto look_at_first_loner(Look look) const noexcept {
    detail::lock_guard guard(lock_);
    const bool is_first = front_size_.load_relaxed() == 0 && !elements_.is_empty();
    return look(is_first && IsLoner(elements_.front()) ? elements_.front() : nullptr);
  }

  // Takes the first loner; null if there is none.
  T* pop_first_loner() noexcept {
    detail::lock_guard guard(lock_);
    if (loners_ == 0) return nullptr;
    --loners_;
    T* element = elements_.remove_first(IsLoner);
    publish_size();
    return element;
  }

  // Moves the first loner to the front of the list. What the holder keeps still comes first, until
  // the holder looks at the queue next.
  void bring_loner_forward() noexcept {
    detail::lock_guard guard(lock_);
    if (loners_ != 0) elements_.push_front(elements_.remove_first(IsLoner));
  }

  // Takes every loner that `wanted` accepts.
  template <class Predicate>
  list extract_loners(Predicate wanted) noexcept {
    detail::lock_guard guard(lock_);
    if (loners_ == 0) return {};
    list taken = elements_.extract([&](const T* x) { return IsLoner(x) && wanted(x); });
    loners_ -= taken.size();
    publish_size();
    return taken;
  }

  // Takes a fair share of the elements: size / procs + 1, at most as many as `out` has room for. A
  // loner is taken as the only one or not at all. Returns the number.
  std::size_t take_share(std::uint32_t procs, std::span<T*> out) noexcept {
    if (holds_all(procs)) return take_from_front(out);
    detail::lock_guard guard(lock_);
    const std::size_t wanted = share_size(procs, out.size());
    std::size_t n = 0;
    while (n < wanted && !elements_.is_empty()) {
      const bool is_loner = IsLoner(elements_.front());
      if (is_loner && n != 0) break;
      prefetch_ahead();
      out[n++] = elements_.pop_front();
      if (is_loner) {
        --loners_;
        break;
      }
    }
    publish_size();
    return n;
  }

  // As take_share, but loners are passed over and remain in front of the queue. Looks at
  // `most_looked_at` elements at most, because all but one may remain.
  std::size_t take_share_without_loners(std::uint32_t procs, std::span<T*> out,
                                        std::size_t most_looked_at) noexcept {
    if (holds_all(procs)) return take_from_front(out.first(std::min(out.size(), most_looked_at)));
    list kept;
    detail::lock_guard guard(lock_);
    const std::size_t wanted = share_size(procs, out.size());
    std::size_t n = 0;
    for (; most_looked_at > 0 && n < wanted && !elements_.is_empty(); --most_looked_at) {
      prefetch_ahead();
      T* element = elements_.pop_front();
      if (IsLoner(element)) {
        kept.push_back(element);
      } else {
        out[n++] = element;
      }
    }
    put_before(static_cast<list&&>(kept));
    return n;
  }

  // The holder of the only processor keeps nothing any more. There may be other processors next.
  void share() noexcept {
    detail::lock_guard guard(lock_);
    give_front_back();
  }

  // Read without the lock, so the figure may be outdated at once. A machine that relies on 0 has a
  // barrier between what it announced and this load (WG-1).
  std::size_t size() const noexcept { return size_.load_relaxed() + front_size_.load_relaxed(); }
  bool is_empty() const noexcept { return size() == 0; }

 private:
  static constexpr std::size_t most_noted = 4096;

  // Does front_ have all elements, but for what comes at this moment? Only at one processor.
  bool holds_all(std::uint32_t procs) noexcept {
    return procs == 1 && (size_.load_relaxed() == 0 || gather());
  }

  // Brings the elements together: in front_, or in the list if that has loners. True: in front_.
  [[gnu::noinline]] bool gather() noexcept {
    detail::lock_guard guard(lock_);
    if (loners_ != 0) {
      give_front_back();
      return false;
    }
    front_.append(static_cast<list&&>(elements_));
    publish_front();
    publish_size();
    return true;
  }

  std::size_t take_from_front(std::span<T*> out) noexcept {
    const std::size_t n = std::min(front_.size(), out.size());
    for (T*& element : out.first(n)) element = front_.pop_front();
    publish_front();
    return n;
  }

  // ---- the following require the lock ----

  void note_last(T* element) noexcept {
    last_[noted_++ % most_noted] = element;
    if (IsLoner(element)) ++loners_;
  }

  // Prefetches what is probably some places behind the first element. If elements have been put in
  // front since, or taken from the middle, it is another one, or none any more.
  [[gnu::always_inline]] void prefetch_ahead() const noexcept {
    constexpr std::size_t places = 8;
    const std::size_t size = elements_.size();
    if (size <= places || size > most_noted) return;
    const T* element = last_[(noted_ - size + places) % most_noted];
    if (element != nullptr) base::prefetch(element);
  }

  void give_front_back() noexcept {
    put_before(static_cast<list&&>(front_));
    publish_front();
  }

  void put_before(list&& elements) noexcept {
    elements.append(static_cast<list&&>(elements_));
    elements_.append(static_cast<list&&>(elements));
    publish_size();
  }

  T* take_first() noexcept {
    T* element = elements_.pop_front();
    if (IsLoner(element)) --loners_;
    publish_size();
    return element;
  }

  std::size_t share_size(std::uint32_t procs, std::size_t most) const noexcept {
    return std::min(elements_.size() / procs + 1, most);
  }
  void publish_size() noexcept { size_.store_relaxed(elements_.size()); }
  void publish_front() noexcept { front_size_.store_relaxed(front_.size()); }

  mutable detail::lock lock_{detail::lock_rank::global_queue};
  list elements_;           // [lock: lock_]
  std::size_t loners_ = 0;  // [lock: lock_] in elements_
  // [lock: lock_] the elements that were added last: the n-th at n modulo the size
  T* last_[most_noted] = {};
  std::size_t noted_ = 0;                   // [lock: lock_] how many were added
  detail::atomic<std::size_t> size_;        // of elements_, written under lock_
  detail::atomic<std::size_t> front_size_;  // of front_, written by its owner
  list front_;                              // [the only processor's holder] come before elements_
};

}  // namespace sley::parts
