// What goroutine::waits_for points to: an object, or a select with its cases. Two low bits tell
// which of them, and whether the wait also ends by itself. The addresses are multiples of four.
#pragma once

#include <cstdint>

namespace sley::rt {

struct waited {
  // An object, until a deadline or the end of a context at most.
  static const void* for_a_while(const void* object) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(object) | ends_bit);
  }
  // The channels of a select without a deadline: sync/selected_channels.hpp.
  static const void* select(const void* selection) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(selection) | select_bit);
  }

  explicit waited(const void* waits_for) noexcept {
    const auto word = reinterpret_cast<std::uintptr_t>(waits_for);
    ends_by_itself = (word & ends_bit) != 0;
    const auto* place = reinterpret_cast<const void*>(word & ~(ends_bit | select_bit));
    ((word & select_bit) != 0 ? selection : object) = place;
  }

  const void* object = nullptr;     // null: there is none, or several
  const void* selection = nullptr;  // null: it is no select, or one with a deadline
  bool ends_by_itself = false;

 private:
  static constexpr std::uintptr_t ends_bit = 1;
  static constexpr std::uintptr_t select_bit = 2;
};

}  // namespace sley::rt
