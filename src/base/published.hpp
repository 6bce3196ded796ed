// A value whose publication says that something is complete: a flag, a count or a pointer. A reader
// of the value sees all writes before it was published.
//
//   operation               allowed callers
//   publish                 one thread at a time
//   publish_first           any thread, where publish is not used
//   read, read_relaxed      any thread
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
  // If a value was published before, that value stays and is returned.
  T publish_first(T value) noexcept {
    T before{};
    return value_.cas_acq_rel(before, value, "PB-1") ? value : before;
  }

  T read() const noexcept { return value_.load_acquire("PB-1"); }
  // For the publisher, for a reader that has seen the published object by other means, and for
  // figures.
  T read_relaxed() const noexcept { return value_.load_relaxed(); }

 private:
  detail::atomic<T> value_;  // [atomic PB-1]
};

}  // namespace sley::base
