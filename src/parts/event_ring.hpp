// A ring of events between the one owner that records them and the one thread that reads them.
//
//   operation         allowed callers
//   begin, publish    the owner: the holder of a processor; a thread's signal handler
//   drain             the reader: the tracer's thread; the profiler's
//
//   ER-1  An event is complete before the reader sees it: store_release(end_) in publish <->
//         load_acquire(end_) in drain.
//   ER-2  An event has been read before its place is written again: store_release(begin_) in drain
//         <-> load_acquire(begin_) in begin.
//   Test: tests/model/event_ring_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

template <class T, std::size_t Capacity>
class event_ring {
 public:
  // The place of the next event, the same one until publish(). Null if the ring is full because the
  // reader is behind.
  T* begin() noexcept {
    const std::uint64_t end = end_.load_relaxed();  // own index
    if (end - begin_.load_acquire("ER-2") == Capacity) return nullptr;
    return &events_[end % Capacity];
  }
  void publish() noexcept { end_.store_release(end_.load_relaxed() + 1, "ER-1"); }

  // Calls `read(event)` for every published event, oldest first.
  template <class Read>
  void drain(Read read) {
    const std::uint64_t end = end_.load_acquire("ER-1");
    for (std::uint64_t i = begin_.load_relaxed(); i != end; ++i) {  // own index
      read(events_[i % Capacity]);
      begin_.store_release(i + 1, "ER-2");
    }
  }

 private:
  alignas(platform::cache_line_bytes) detail::atomic<std::uint64_t> end_;    // [atomic ER-1]
  alignas(platform::cache_line_bytes) detail::atomic<std::uint64_t> begin_;  // [atomic ER-2]
  T events_[Capacity];
};

}  // namespace sley::parts
