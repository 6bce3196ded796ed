// What goroutine::waits_for points to: an object, or the cases of a select. Two low bits tell which
// of them, and whether the wait also ends by itself. The addresses are multiples of four.
#pragma once

#include <sley/detail/chan_core.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// The cases of a select, in the program's order. A goroutine that waits has it on its stack.
struct selected {
  const detail::select_case* cases;  // also cases of nil channels
  std::size_t count;

  template <class Visit>
  void visit_channels(const Visit& visit) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (cases[i].channel != nullptr) visit(*cases[i].channel);
    }
  }
};

struct waited {
  // An object, until a deadline or the end of a context at most.
  static const void* for_a_while(const void* object) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(object) | ends_bit);
  }
  // Until a deadline at most, if it is `timed`.
  static const void* select(const selected* cases, bool timed) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(cases) | select_bit |
                                         (timed ? ends_bit : 0));
  }

  explicit waited(const void* waits_for) noexcept {
    const auto word = reinterpret_cast<std::uintptr_t>(waits_for);
    ends_by_itself = (word & ends_bit) != 0;
    const std::uintptr_t address = word & ~(ends_bit | select_bit);
    if ((word & select_bit) != 0) {
      selection = reinterpret_cast<const selected*>(address);
    } else {
      object = reinterpret_cast<const void*>(address);
    }
  }

  const void* object = nullptr;         // null: there is none, or it is a select
  const selected* selection = nullptr;  // null: it is none
  bool ends_by_itself = false;

 private:
  static constexpr std::uintptr_t ends_bit = 1;
  static constexpr std::uintptr_t select_bit = 2;
};

}  // namespace sley::rt
