// Counts of requested threads: threads that are still to be made, and threads that are on their
// way.
//
//   operation       allowed callers
//   add             any thread; true: the caller must wake the thread that makes threads
//   take            the thread that makes threads
//   arrive          a new thread, when it has begun to run
//   is_any_coming   any thread; the answer may be outdated at once
//
//   TH-1  A submitter may leave its work to a requested thread that has not arrived yet:
//         cas_acq_rel in add, the new thread's sub_acq_rel in arrive, and a heavy barrier (WG-1) of
//         that thread when it goes idle, or, if the thread found no idle processor, of the machine
//         that makes one idle afterwards <-> the submitter's work, its light barrier (WG-1) and
//         load_relaxed in is_any_coming.
//   Test: tests/model/wake_gate_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::parts {

class thread_requests {
 public:
  constexpr thread_requests() noexcept = default;

  // Requests one more thread, unless `most` are still to be made.
  [[nodiscard]] bool add(std::uint32_t most) noexcept {
    std::uint32_t seen = word_.load_relaxed();
    for (;;) {  // TH-1: the word is written in either case
      const bool is_new = seen % one_to_make < most;
      const std::uint32_t next = is_new ? seen + one_to_make + one_coming : seen;
      if (word_.cas_acq_rel(seen, next, "TH-1")) return is_new;
    }
  }

  // False if there is no thread to make.
  [[nodiscard]] bool take() noexcept {
    if (word_.load_relaxed() < one_to_make) return false;
    word_.add_relaxed(-one_to_make);
    return true;
  }

  void arrive() noexcept { word_.sub_acq_rel(one_coming, "TH-1"); }
  bool is_any_coming() const noexcept { return word_.load_relaxed() != 0; }

 private:
  static constexpr std::uint32_t one_coming = 1;
  static constexpr std::uint32_t one_to_make = 1U << 16;  // counted as coming as well

  detail::atomic<std::uint32_t> word_;  // [atomic TH-1]
};

}  // namespace sley::parts
