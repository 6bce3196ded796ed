// How often sysmon looks; see sysmon.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sley::rt {

// The time until the next look. [sysmon]
class pace {
 public:
  void hurry() noexcept {
    rounds_ = 0;
    delay_ns_ = shortest_delay_ns;
  }
  // Slows down from the next look on, because work that begins after a rest mostly ends soon.
  void look_round() noexcept {
    rounds_ = patient_rounds;
    delay_ns_ = shortest_delay_ns;
  }
  void slow_down(std::int64_t longest_ns) noexcept {
    if (++rounds_ > patient_rounds) delay_ns_ = std::min(2 * delay_ns_, longest_ns);
  }
  std::int64_t delay_ns() const noexcept { return delay_ns_; }
  // When the next look is due, if this one was due at due_ns and happens at now_ns. A late wake-up
  // of the thread does not put off later looks.
  std::int64_t after(std::int64_t due_ns, std::int64_t now_ns) const noexcept {
    return std::clamp(due_ns, now_ns - delay_ns_ / 4 * 3, now_ns) + delay_ns_;
  }

 private:
  static constexpr std::int64_t shortest_delay_ns = 60'000;
  static constexpr int patient_rounds = 50;  // without success, before the delay grows

  int rounds_ = 0;
  std::int64_t delay_ns_ = shortest_delay_ns;
};

}  // namespace sley::rt
