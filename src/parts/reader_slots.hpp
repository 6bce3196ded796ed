// The marks of shared_mutex readers: a few slots for each processor, so that a reader writes no
// cache line that other processors write. From BRAVO (Dice and Kogan, 2019), which hashes readers
// into one table.
//
//   operation          allowed callers
//   take               the holder of the processor, inside the runtime
//   store_release(0)   the reader that took the slot, on any thread
//   has                any thread
//
//   SM-3  A writer that no longer finds a reader's mark sees all that the reader did, even if a
//         later reader has taken the slot: store_release(0) <-> load_acquire in has and take, and
//         store_release in take <-> load_acquire in has.
//   Test: tests/model/shared_mutex_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::parts {

using reader_slot = detail::atomic<std::uintptr_t>;  // 0: free

template <std::size_t Count>
class alignas(platform::cache_line_bytes) reader_slots {
 public:
  // Takes a free slot for `mark`, which is not 0. Null if every slot is taken.
  reader_slot* take(std::uintptr_t mark) noexcept {
    for (reader_slot& s : slots_) {
      if (s.load_acquire("SM-3") != 0) continue;
      s.store_release(mark, "SM-3");
      return &s;
    }
    return nullptr;
  }

  bool has(std::uintptr_t mark) const noexcept {
    for (const reader_slot& s : slots_) {
      if (s.load_acquire("SM-3") == mark) return true;
    }
    return false;
  }

 private:
  reader_slot slots_[Count];  // [atomic SM-3]
};

}  // namespace sley::parts
