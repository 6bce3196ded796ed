// The one atomic type of sley. The memory order is part of each operation's name, so that it can be
// neither forgotten nor computed, and a search for `_acquire` lists every acquire.
//
// Operations that carry an ordering argument take the label of that argument ("RQ-1"): it is
// documented where the variable is declared and in docs/memory_orders.md. Labels cost nothing in
// normal builds. In model builds (SLEY_MODEL) the same source runs under relacy, and the label
// named by `--mutate` is weakened to relaxed, which the model must catch.
//
// light_barrier and heavy_barrier are the two halves of an asymmetric store-load barrier: the
// frequent side pays a compiler barrier, the rare side a membarrier(2) system call. Together they
// order like a seq_cst fence on each side (which is what the model build uses for both).
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/schedule_point.hpp>

#ifdef SLEY_MODEL
// Not relacy.hpp, which goes on to redefine new, delete, malloc, errno and more as macros.
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>

#include <algorithm>
#include <string_view>
#else
#include <atomic>
#endif

#include <cstddef>
#include <cstdint>

namespace sley::detail {

using order_label = const char*;

#ifdef SLEY_MODEL

// What a model run weakens, set by its main(). A label ("RQ-1") weakens every operation that
// carries it; "RQ-1@push" only the operations in the function of that name; "RQ-2@pop.acquire" and
// "RQ-2@pop.release" only take that half away from a read-modify-write. Null weakens nothing.
inline order_label mutated_label = nullptr;

// How many operations the run has weakened: a mutation that weakens none is misspelt.
inline unsigned long weakened_operations = 0;

enum class mutation { none, all, acquire_half, release_half };

// `site` is the function that the operation is in, perhaps with template arguments.
inline mutation mutation_of(order_label label, std::string_view site) {
  if (label == nullptr || mutated_label == nullptr) return mutation::none;
  const std::string_view wanted = mutated_label;
  const std::size_t at = std::min(wanted.find('@'), wanted.size());
  const std::size_t dot = std::min(wanted.find('.'), wanted.size());
  if (wanted.substr(0, std::min(at, dot)) != label) return mutation::none;
  const std::string_view function = site.substr(0, site.find('<'));
  if (at < dot && wanted.substr(at + 1, dot - at - 1) != function) return mutation::none;
  ++weakened_operations;
  if (dot == wanted.size()) return mutation::all;
  return wanted.substr(dot) == ".acquire" ? mutation::acquire_half : mutation::release_half;
}

inline rl::memory_order weakened(rl::memory_order order, order_label label, const char* site) {
  const bool is_both = order == rl::mo_acq_rel;
  switch (mutation_of(label, site)) {
    case mutation::none: return order;
    case mutation::all: return rl::mo_relaxed;
    case mutation::acquire_half: return is_both ? rl::mo_release : order;
    case mutation::release_half: return is_both ? rl::mo_acquire : order;
  }
  return order;
}

#define SLEY_ORDER order_label label, const char *site = __builtin_FUNCTION()

template <class T>
class atomic {
 public:
  constexpr atomic() : value_(T{}) {}  // so that its owner may be constexpr in other builds
  constexpr explicit atomic(T initial) : value_(initial) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load_relaxed() const { return value_($).load(rl::mo_relaxed); }
  T load_acquire(SLEY_ORDER) const { return value_($).load(weakened(rl::mo_acquire, label, site)); }
  T load_seq_cst(SLEY_ORDER) const { return value_($).load(weakened(rl::mo_seq_cst, label, site)); }
  void store_relaxed(T v) { value_($).store(v, rl::mo_relaxed); }
  void store_release(T v, SLEY_ORDER) { value_($).store(v, weakened(rl::mo_release, label, site)); }
  void store_seq_cst(T v, SLEY_ORDER) { value_($).store(v, weakened(rl::mo_seq_cst, label, site)); }
  T exchange_acquire(T v, SLEY_ORDER) {
    return value_($).exchange(v, weakened(rl::mo_acquire, label, site));
  }
  T exchange_release(T v, SLEY_ORDER) {
    return value_($).exchange(v, weakened(rl::mo_release, label, site));
  }
  T exchange_acq_rel(T v, SLEY_ORDER) {
    return value_($).exchange(v, weakened(rl::mo_acq_rel, label, site));
  }
  bool cas_relaxed(T& expected, T desired) {
    return value_($).compare_exchange_strong(expected, desired, rl::mo_relaxed, rl::mo_relaxed);
  }
  bool cas_acquire(T& expected, T desired, SLEY_ORDER) {
    return value_($).compare_exchange_strong(expected, desired,
                                             weakened(rl::mo_acquire, label, site), rl::mo_relaxed);
  }
  bool cas_release(T& expected, T desired, SLEY_ORDER) {
    return value_($).compare_exchange_strong(expected, desired,
                                             weakened(rl::mo_release, label, site), rl::mo_relaxed);
  }
  bool cas_acq_rel(T& expected, T desired, SLEY_ORDER) {
    const rl::memory_order order = weakened(rl::mo_acq_rel, label, site);
    const bool acquires = order == rl::mo_acq_rel || order == rl::mo_acquire;
    return value_($).compare_exchange_strong(expected, desired, order,
                                             acquires ? rl::mo_acquire : rl::mo_relaxed);
  }
  bool cas_seq_cst(T& expected, T desired, SLEY_ORDER) {
    return value_($).compare_exchange_strong(expected, desired,
                                             weakened(rl::mo_seq_cst, label, site), rl::mo_relaxed);
  }
  T add_relaxed(T v) { return value_($).fetch_add(v, rl::mo_relaxed); }
  T add_acq_rel(T v, SLEY_ORDER) {
    return value_($).fetch_add(v, weakened(rl::mo_acq_rel, label, site));
  }
  T sub_acq_rel(T v, SLEY_ORDER) {
    return value_($).fetch_sub(v, weakened(rl::mo_acq_rel, label, site));
  }
  T or_acq_rel(T v, SLEY_ORDER) {
    return value_($).fetch_or(v, weakened(rl::mo_acq_rel, label, site));
  }
  T and_acq_rel(T v, SLEY_ORDER) {
    return value_($).fetch_and(v, weakened(rl::mo_acq_rel, label, site));
  }

 private:
  mutable rl::atomic<T> value_;
};

// A table with static storage, of objects that have atomics. A model's atomics live for one
// execution only, so the table of a model is one place, which the suite owns and names in `place`.
template <class T, std::size_t>
struct static_table {
  T& operator[](std::size_t) const { return *place; }
  T* place = nullptr;
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

// Both ways in which the barriers come: two fences, or a light side that orders nothing by itself
// and a heavy side that makes everything done so far visible to every thread, as membarrier(2)
// does.
inline bool barriers_are_symmetric = true;

inline void light_barrier(SLEY_ORDER) {
  if (mutation_of(label, site) != mutation::none) return;
  if (barriers_are_symmetric) rl::atomic_thread_fence(rl::mo_seq_cst, $);
}
// Orders nothing in either way: it only keeps the compiler from moving things, which no model does.
inline void lightest_barrier(order_label) {}
inline void heavy_barrier(SLEY_ORDER) {
  if (mutation_of(label, site) != mutation::none) return;
  if (barriers_are_symmetric) {
    rl::atomic_thread_fence(rl::mo_seq_cst, $);
  } else {
    rl::ctx().sched();
    rl::systemwide_fence($);
  }
}
inline void cpu_relax() { rl::ctx().yield(1, $); }

#undef SLEY_ORDER

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
SLEY_ALWAYS_INLINE void cpu_relax() noexcept {
  relax_point();
  __builtin_ia32_pause();
}

#endif

}  // namespace sley::detail
