// A value that says that something is complete: a flag, a number of things, a pointer to one.
// Whoever reads it sees all that was done before it was published.
//
//   operation               who may call it
//   publish                 one thread at a time
//   publish_first           anybody, where publish is not used
//   read, read_relaxed      anybody
//
//   PB-1  store_release in publish, cas_acq_rel in publish_first <-> load_acquire in read.
//   Test: tests/model/published_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::base {

template <class T>
class published {
 public:
  constexpr published() noexcept = default;

  void publish(T value) noexcept { value_.store_release(value, "PB-1"); }
  // If somebody has published one before, that one stays, and is returned.
  T publish_first(T value) noexcept {
    T before{};
    return value_.cas_acq_rel(before, value, "PB-1") ? value : before;
  }

  T read() const noexcept { return value_.load_acquire("PB-1"); }
  // By who may publish, or has seen what it stands for by other means, or wants a figure.
  T read_relaxed() const noexcept { return value_.load_relaxed(); }

 private:
  detail::atomic<T> value_;  // [atomic PB-1]
};

}  // namespace sley::base
