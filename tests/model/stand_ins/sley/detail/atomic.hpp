// The atomics of the models: <sley/detail/atomic.hpp> under relacy, and the orders that a mutation
// weakens.
#pragma once

#include <sley/detail/config.hpp>

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
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::detail {

using order_label = const char*;

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
  T sub_relaxed(T v) { return value_($).fetch_sub(v, rl::mo_relaxed); }
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

#undef SLEY_ORDER

}  // namespace sley::detail
