// Gives back memory of stacks that is not needed; see trim.cpp.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/records.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// Goes over all records in rounds, a part of them each time. [sysmon]
class stack_trimmer {
 public:
  static constexpr std::uint32_t never_s = UINT32_MAX;
  static constexpr std::uint32_t wait_at_least_s = 5;

  // Gives back a batch. Returns in how many seconds the next one is due; never_s if nothing is
  // left.
  std::uint32_t trim_batch() noexcept;

 private:
  // As trim_batch(), for the stacks of goroutines that wait.
  std::uint32_t trim_waiting() noexcept;
  std::uint32_t until_next_round(std::uint32_t now_s) const noexcept;  // in seconds
  void begin_round(std::uint32_t now_s) noexcept;
  void look_at_batch(std::uint32_t now_s) noexcept;
  void end_round() noexcept;
  goroutine* next() noexcept;

  slab* slab_ = nullptr;
  std::size_t place_ = 0;
  bool is_in_round_ = false;
  std::size_t looks_ = 0;                    // in this round
  std::size_t found_ = 0;                    // of them: something to give back, now or later
  std::uint32_t pause_s_ = wait_at_least_s;  // from the begin of this round to that of the next
  // A round before this, in seconds since boot, finds no goroutine that the last one left out.
  std::uint32_t next_round_s_ = wait_at_least_s;
};

}  // namespace sley::rt
