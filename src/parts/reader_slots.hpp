// Where readers of shared_mutexes leave their marks, without writing to anything that others write
// to: a few slots for each processor. From BRAVO (Dice and Kogan, 2019), where they are hashed.
//
//   operation          who may call it
//   take               the holder of the processor, inside the runtime
//   store_release(0)   who took the slot, on any thread
//   has                anybody
//
//   SM-3  What a reader did is over for who does not find its mark any more, also if it finds that
//         of a later one: store_release(0) <-> load_acquire in has and take, and store_release in
//         take <-> load_acquire in has.
//   Test: tests/model/shared_mutex_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::parts {

using reader_slot = detail::atomic<std::uintptr_t>;  // 0: free

template <std::size_t Count>
class alignas(64) reader_slots {
 public:
  // Null if all are taken. `mark` is not 0.
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
