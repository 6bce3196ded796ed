// Takes the place of <sley/detail/atomic.hpp> in the model: each operation takes the time that it
// would take on the modelled machine, and happens in the order of that time.
#pragma once

#include "cpus.hpp"

#include <sley/detail/config.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sley::detail {

using order_label = const char*;

template <class T>
class atomic {
 public:
  constexpr atomic() noexcept : value_(T{}) {}
  constexpr explicit atomic(T initial) noexcept : value_(initial) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load_relaxed() const noexcept {
    scale::access(this, scale::kind::load);
    return value_;
  }
  T load_acquire(order_label) const noexcept { return load_relaxed(); }
  T load_seq_cst(order_label) const noexcept { return load_relaxed(); }
  void store_relaxed(T v) noexcept {
    scale::access(this, scale::kind::store);
    value_ = v;
  }
  void store_release(T v, order_label) noexcept { store_relaxed(v); }
  void store_seq_cst(T v, order_label) noexcept { exchange_acq_rel(v, ""); }
  T exchange_acquire(T v, order_label) noexcept { return exchange_acq_rel(v, ""); }
  T exchange_release(T v, order_label) noexcept { return exchange_acq_rel(v, ""); }
  T exchange_acq_rel(T v, order_label) noexcept {
    locked();
    return exchange(v);
  }
  bool cas_relaxed(T& expected, T desired) noexcept { return cas(expected, desired); }
  bool cas_acquire(T& expected, T desired, order_label) noexcept { return cas(expected, desired); }
  bool cas_release(T& expected, T desired, order_label) noexcept { return cas(expected, desired); }
  bool cas_acq_rel(T& expected, T desired, order_label) noexcept { return cas(expected, desired); }
  bool cas_seq_cst(T& expected, T desired, order_label) noexcept { return cas(expected, desired); }
  T add_relaxed(T v) noexcept { return exchange(static_cast<T>(locked() + v)); }
  T add_acq_rel(T v, order_label) noexcept { return add_relaxed(v); }
  T sub_relaxed(T v) noexcept { return exchange(static_cast<T>(locked() - v)); }
  T sub_acq_rel(T v, order_label) noexcept { return sub_relaxed(v); }
  T or_acq_rel(T v, order_label) noexcept { return exchange(static_cast<T>(locked() | v)); }
  T and_acq_rel(T v, order_label) noexcept { return exchange(static_cast<T>(locked() & v)); }

 private:
  T locked() noexcept {
    scale::access(this, scale::kind::locked);
    return value_;
  }
  // No other CPU runs between locked() and the write.
  T exchange(T v) noexcept { return std::exchange(value_, v); }
  bool cas(T& expected, T desired) noexcept {
    if (locked() == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }

  T value_;
};

template <class T, std::size_t Size>
struct static_table {
  T& operator[](std::size_t place) noexcept { return places[place]; }
  T places[Size];
};

inline constexpr bool barriers_are_symmetric = false;

inline void light_barrier(order_label) noexcept {}
inline void lightest_barrier(order_label) noexcept {}
inline void heavy_barrier(order_label) noexcept { scale::membarrier(); }

}  // namespace sley::detail
