// The one atomic type of sley. The memory order is part of each operation's name, so that it can be
// neither forgotten nor computed, and a search for `_acquire` lists every acquire.
//
// Operations that carry an ordering argument take the label of that argument ("RQ-1"): it is
// documented where the variable is declared and in docs/memory_orders.md. Labels cost nothing in
// normal builds. In model builds (SLEY_MODEL) the same source runs under relacy, and the label named
// by `--mutate` is weakened to relaxed, which the model must catch.
//
// light_barrier and heavy_barrier are the two halves of an asymmetric store-load barrier: the
// frequent side pays a compiler barrier, the rare side a membarrier(2) system call. Together they
// order like a seq_cst fence on each side (which is what the model build uses for both).
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/schedule_point.hpp>

#ifdef SLEY_MODEL
#include <relacy/relacy.hpp>
#else
#include <atomic>
#endif

#include <cstdint>

namespace sley::detail {

using order_label = const char*;

#ifdef SLEY_MODEL

// The label to weaken, set by the model's main().
inline order_label mutated_label = nullptr;

inline bool is_mutated(order_label label) {
  if (label == nullptr || mutated_label == nullptr) return false;
  const char* a = label;
  const char* b = mutated_label;
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

inline rl::memory_order weakened(rl::memory_order order, order_label label) {
  return is_mutated(label) ? rl::mo_relaxed : order;
}

template <class T>
class atomic {
 public:
  atomic() : value_(T{}) {}
  explicit atomic(T initial) : value_(initial) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load_relaxed() const { return value_($).load(rl::mo_relaxed); }
  T load_acquire(order_label l) const { return value_($).load(weakened(rl::mo_acquire, l)); }
  T load_seq_cst(order_label l) const { return value_($).load(weakened(rl::mo_seq_cst, l)); }
  void store_relaxed(T v) { value_($).store(v, rl::mo_relaxed); }
  void store_release(T v, order_label l) { value_($).store(v, weakened(rl::mo_release, l)); }
  void store_seq_cst(T v, order_label l) { value_($).store(v, weakened(rl::mo_seq_cst, l)); }
  T exchange_acquire(T v, order_label l) {
    return value_($).exchange(v, weakened(rl::mo_acquire, l));
  }
  T exchange_release(T v, order_label l) {
    return value_($).exchange(v, weakened(rl::mo_release, l));
  }
  T exchange_acq_rel(T v, order_label l) {
    return value_($).exchange(v, weakened(rl::mo_acq_rel, l));
  }
  bool cas_relaxed(T& expected, T desired) {
    return value_($).compare_exchange_strong(expected, desired, rl::mo_relaxed, rl::mo_relaxed);
  }
  bool cas_acquire(T& expected, T desired, order_label l) {
    return value_($).compare_exchange_strong(expected, desired, weakened(rl::mo_acquire, l),
                                             rl::mo_relaxed);
  }
  bool cas_release(T& expected, T desired, order_label l) {
    return value_($).compare_exchange_strong(expected, desired, weakened(rl::mo_release, l),
                                             rl::mo_relaxed);
  }
  bool cas_acq_rel(T& expected, T desired, order_label l) {
    return value_($).compare_exchange_strong(expected, desired, weakened(rl::mo_acq_rel, l),
                                             weakened(rl::mo_acquire, l));
  }
  T add_relaxed(T v) { return value_($).fetch_add(v, rl::mo_relaxed); }
  T add_acq_rel(T v, order_label l) {
    return value_($).fetch_add(v, weakened(rl::mo_acq_rel, l));
  }
  T sub_acq_rel(T v, order_label l) {
    return value_($).fetch_sub(v, weakened(rl::mo_acq_rel, l));
  }
  T or_acq_rel(T v, order_label l) { return value_($).fetch_or(v, weakened(rl::mo_acq_rel, l)); }
  T and_acq_rel(T v, order_label l) {
    return value_($).fetch_and(v, weakened(rl::mo_acq_rel, l));
  }

 private:
  mutable rl::atomic<T> value_;
};

// A plain variable whose accesses the model checks for data races.
template <class T>
class plain {
 public:
  plain() : value_(T{}) {}
  explicit plain(T v) : value_(v) {}
  T get() const { return value_($); }
  void set(T v) { value_($) = v; }

 private:
  mutable rl::var<T> value_;
};

inline void light_barrier(order_label l) {
  if (!is_mutated(l)) rl::atomic_thread_fence(rl::mo_seq_cst, $);
}
inline void heavy_barrier(order_label l) { light_barrier(l); }
inline void cpu_relax() { rl::yield(1, $); }

#else

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
  SLEY_ALWAYS_INLINE T add_relaxed(T v) noexcept {
    schedule_point();
    return value_.fetch_add(v, std::memory_order_relaxed);
  }
  SLEY_ALWAYS_INLINE T add_acq_rel(T v, order_label) noexcept {
    schedule_point();
    return value_.fetch_add(v, std::memory_order_acq_rel);
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

// True where membarrier(2) is not to be had: then both halves are full fences.
SLEY_API extern bool barriers_are_symmetric;
SLEY_API void heavy_barrier_syscall() noexcept;

SLEY_ALWAYS_INLINE void light_barrier(order_label) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(barriers_are_symmetric, 0)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
inline void heavy_barrier(order_label) noexcept {
  schedule_point();
  heavy_barrier_syscall();
}
SLEY_ALWAYS_INLINE void cpu_relax() noexcept {
  schedule_point();
  __builtin_ia32_pause();
}

#endif

}  // namespace sley::detail
