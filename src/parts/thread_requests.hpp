// Threads that were asked for: those still to be made, and all that are on their way.
//
//   operation       who may call it
//   add             anybody; true: whoever makes them must be woken
//   take            who makes them
//   arrive          a thread that is there now
//   is_any_coming   anybody; a moment's answer
//
//   TH-1  More work comes before a thread that was asked for is there, and is left to it:
//         cas_acq_rel in add, and the new thread's sub_acq_rel in arrive, and the heavy barrier
//         (WG-1) of that thread when it goes idle, or of who makes a processor idle after it has
//         found none <-> work, a light barrier (WG-1), and load_relaxed in is_any_coming.
//   Test: tests/model/wake_gate_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::parts {

class thread_requests {
 public:
  constexpr thread_requests() noexcept = default;

  // One more is to come, unless `most` are on their way.
  [[nodiscard]] bool add(std::uint32_t most) noexcept {
    std::uint32_t seen = word_.load_relaxed();
    for (;;) {  // writes in any case: TH-1
      const bool is_new = seen % one_to_make < most;
      const std::uint32_t next = is_new ? seen + one_to_make + one_coming : seen;
      if (word_.cas_acq_rel(seen, next, "TH-1")) return is_new;
    }
  }

  // False: there is none to make.
  [[nodiscard]] bool take() noexcept {
    if (word_.load_relaxed() < one_to_make) return false;
    word_.add_relaxed(-one_to_make);
    return true;
  }

  void arrive() noexcept { word_.sub_acq_rel(one_coming, "TH-1"); }
  bool is_any_coming() const noexcept { return word_.load_relaxed() != 0; }

 private:
  static constexpr std::uint32_t one_coming = 1;
  static constexpr std::uint32_t one_to_make = 1U << 16;  // it is counted as coming as well

  detail::atomic<std::uint32_t> word_;  // [atomic TH-1]
};

}  // namespace sley::parts
