// The one atomic type of sley. The memory order is part of each operation's name, so that it can be
// neither forgotten nor computed, and a search for `_acquire` lists every acquire.
//
// Operations that carry an ordering argument take the label of that argument ("RQ-1"): it is
// documented where the variable is declared and in docs/memory_orders.md. Labels cost nothing.
// They are for the models (tests/model), which put a header of the same name before this one. That
// header runs the library's source under a model checker, and weakens the order of a label.
//
// light_barrier and heavy_barrier are the two halves of an asymmetric store-load barrier: the
// frequent side pays a compiler barrier, the rare side a membarrier(2) system call. Together they
// order like a seq_cst fence on each side.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/schedule_point.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sley::detail {

using order_label = const char*;

template <class T>
class atomic {
 public:
  constexpr atomic() noexcept : value_(T{}) {}
  constexpr explicit atomic(T initial) noexcept : value_(initial) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  SLEY_ALWAYS_INLINE T load_relaxed() const noexcept { return load(std::memory_order_relaxed); }
  SLEY_ALWAYS_INLINE T load_acquire(order_label) const noexcept {
    return load(std::memory_order_acquire);
  }
  SLEY_ALWAYS_INLINE T load_seq_cst(order_label) const noexcept {
    return load(std::memory_order_seq_cst);
  }
  SLEY_ALWAYS_INLINE void store_relaxed(T v) noexcept { store(v, std::memory_order_relaxed); }
  SLEY_ALWAYS_INLINE void store_release(T v, order_label) noexcept {
    store(v, std::memory_order_release);
  }
  SLEY_ALWAYS_INLINE void store_seq_cst(T v, order_label) noexcept {
    store(v, std::memory_order_seq_cst);
  }
  SLEY_ALWAYS_INLINE T exchange_acquire(T v, order_label) noexcept {
    return exchange(v, std::memory_order_acquire);
  }
  SLEY_ALWAYS_INLINE T exchange_release(T v, order_label) noexcept {
    return exchange(v, std::memory_order_release);
  }
  SLEY_ALWAYS_INLINE T exchange_acq_rel(T v, order_label) noexcept {
    return exchange(v, std::memory_order_acq_rel);
  }
  // The cas operations are strong; on failure `expected` holds the value read, with an acquire for
  // cas_acq_rel and relaxed for the others.
  SLEY_ALWAYS_INLINE bool cas_relaxed(T& expected, T desired) noexcept {
    return cas(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE bool cas_acquire(T& expected, T desired, order_label) noexcept {
    return cas(expected, desired, std::memory_order_acquire, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE bool cas_release(T& expected, T desired, order_label) noexcept {
    return cas(expected, desired, std::memory_order_release, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE bool cas_acq_rel(T& expected, T desired, order_label) noexcept {
    return cas(expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
  }
  SLEY_ALWAYS_INLINE bool cas_seq_cst(T& expected, T desired, order_label) noexcept {
    return cas(expected, desired, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE T add_relaxed(T v) noexcept {
    schedule_point();
    return value_.fetch_add(v, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE T add_acq_rel(T v, order_label) noexcept {
    schedule_point();
    return value_.fetch_add(v, std::memory_order_acq_rel);
  }
  SLEY_ALWAYS_INLINE T sub_relaxed(T v) noexcept {
    schedule_point();
    return value_.fetch_sub(v, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE T sub_acq_rel(T v, order_label) noexcept {
    schedule_point();
    return value_.fetch_sub(v, std::memory_order_acq_rel);
  }
  SLEY_ALWAYS_INLINE T or_acq_rel(T v, order_label) noexcept {
    schedule_point();
    return value_.fetch_or(v, std::memory_order_acq_rel);
  }
  SLEY_ALWAYS_INLINE T and_acq_rel(T v, order_label) noexcept {
    schedule_point();
    return value_.fetch_and(v, std::memory_order_acq_rel);
  }

  // The word itself, for futex(2).
  T* address() noexcept {
    static_assert(sizeof(std::atomic<T>) == sizeof(T));
    return reinterpret_cast<T*>(&value_);
  }

 private:
  SLEY_ALWAYS_INLINE T load(std::memory_order order) const noexcept {
    schedule_point();
    return value_.load(order);
  }
  SLEY_ALWAYS_INLINE void store(T v, std::memory_order order) noexcept {
    schedule_point();
    value_.store(v, order);
  }
  SLEY_ALWAYS_INLINE T exchange(T v, std::memory_order order) noexcept {
    schedule_point();
    return value_.exchange(v, order);
  }
  SLEY_ALWAYS_INLINE bool cas(T& expected, T desired, std::memory_order success,
                              std::memory_order failure) noexcept {
    schedule_point();
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }

  static_assert(std::atomic<T>::is_always_lock_free);
  std::atomic<T> value_;
};

// A table with static storage. It is never destroyed: threads use it until the process is gone.
template <class T, std::size_t Size>
struct static_table {
  constexpr static_table() noexcept {}
  constexpr ~static_table() {}
  T& operator[](std::size_t place) noexcept { return places[place]; }
  union {
    T places[Size] = {};
  };
};

// True where membarrier(2) is not available: then both halves are full fences.
SLEY_HIDDEN extern bool barriers_are_symmetric;
SLEY_HIDDEN void heavy_barrier_syscall() noexcept;

SLEY_ALWAYS_INLINE void light_barrier(order_label) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(barriers_are_symmetric, 0)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
// The same, but never more than a compiler barrier: for code that is not reached where membarrier
// is not available.
SLEY_ALWAYS_INLINE void lightest_barrier(order_label) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void heavy_barrier(order_label) noexcept {
  schedule_point();
  heavy_barrier_syscall();
}

}  // namespace sley::detail
