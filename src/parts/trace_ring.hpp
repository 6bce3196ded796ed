// A ring of words between the one owner that writes events into it and readers that come now and
// then. The owner never waits: it writes over the oldest events. A reader copies what is there and
// leaves out what was written over meanwhile.
//
//   operation     allowed callers
//   put, publish  the owner: the holder of a processor
//   read, end     any thread
//
// An event has one slot or several in a row, `Longest` at most, which become visible together. A
// reader that is overtaken may get a part of an event.
//
//   TB-1  Events are complete before a reader sees them: store_release(end_) in publish <->
//         load_acquire(end_) in end.
//   TB-2  A reader that finds a slot written anew learns of it. Slot i is written again by an event
//         that begins at i + Capacity - Longest + 1 or later, after the owner has published the end
//         of the event before. So:
//           owner:  1 end_ = e          2 slot = new
//           reader: 3 read slot         4 read end_
//         store_release(slot) in put <-> load_acquire(slot) in read: if 3 sees 2, then 4 sees 1, or
//         a later end, and the reader knows by it that slot i is gone.
//   Test: tests/model/trace_ring_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include "platform/cpu.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sley::parts {

struct trace_slot {
  detail::atomic<std::uint64_t> first;   // [atomic TB-2]
  detail::atomic<std::uint64_t> second;  // [atomic TB-2]
};

template <std::uint64_t Longest>
class trace_ring {
 public:
  // Before all other calls. The number of slots is a power of two, greater than Longest.
  void set_memory(trace_slot* slots, std::uint64_t count) noexcept {
    slots_ = slots;
    mask_ = count - 1;
  }

  // Writes slot `i` of the next event.
  void put(std::uint64_t i, std::uint64_t first, std::uint64_t second) noexcept {
    trace_slot& slot = slots_[(end_.load_relaxed() + i) & mask_];  // own index
    slot.first.store_release(first, "TB-2");
    slot.second.store_release(second, "TB-2");
  }
  // The next event is complete. It has this many slots.
  void publish(std::uint64_t slots) noexcept {
    end_.store_release(end_.load_relaxed() + slots, "TB-1");
  }

  // The owner's own knowledge: how many slots it has written in all, and how many there are.
  std::uint64_t written() const noexcept { return end_.load_relaxed(); }
  std::uint64_t capacity() const noexcept { return mask_ + 1; }

  // How many slots have been written in all.
  std::uint64_t end() const noexcept { return end_.load_acquire("TB-1"); }

  // Calls `f(first, second, lost)` for each slot from number `from` on that is still there; `lost`:
  // how many there were since the one before. Returns how many are lost in all. `from` becomes the
  // number of the first slot that is still to come.
  template <class F>
  std::uint64_t read(std::uint64_t& from, F f) const {
    const std::uint64_t last = end();
    if (last == from) return 0;  // there may be no memory yet
    std::uint64_t next = std::min(std::max(from, oldest(last)), last);
    std::uint64_t lost = next - from;
    std::uint64_t all_lost = lost;
    for (; next != last; ++next) {
      const trace_slot& slot = slots_[next & mask_];
      const std::uint64_t first = slot.first.load_acquire("TB-2");
      const std::uint64_t second = slot.second.load_acquire("TB-2");
      if (next < oldest(end_.load_relaxed())) {  // TB-2 orders it
        ++lost;
        ++all_lost;
      } else {
        f(first, second, std::exchange(lost, 0));
      }
    }
    from = last;
    return all_lost;
  }

 private:
  // The number of the oldest slot that the owner is not writing over, when this many have been
  // written.
  std::uint64_t oldest(std::uint64_t end) const noexcept {
    const std::uint64_t begun = end + Longest;
    return begun > capacity() ? begun - capacity() : 0;
  }

  alignas(platform::cache_line_bytes) detail::atomic<std::uint64_t> end_;  // [atomic TB-1]
  trace_slot* slots_ = nullptr;                                            // [const]
  std::uint64_t mask_ = 0;                                                 // [const]
};

}  // namespace sley::parts
