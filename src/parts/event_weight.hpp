// Which events a profile of waits takes, and what each stands for. From Go's blocksampled,
// mutexevent and saveBlockEventStack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sley::parts {

// What an event that was taken stands for: a number of events, and the time of all of them.
struct event_weight {
  double count;
  std::uint64_t delay_ns;
};

// A profile that takes one event in `rate_ns` of waiting. A wait of that length or more is always
// taken. A shorter one is taken with the probability delay / rate, and then stands for rate / delay
// waits: on average count and time are right for waits of each length. `chance` is a random number,
// uniform over all of its values.
inline std::optional<event_weight> weight_of_wait(std::int64_t delay_ns, std::int64_t rate_ns,
                                                  std::uint32_t chance) noexcept {
  const auto delay = static_cast<double>(std::max<std::int64_t>(delay_ns, 1));
  const auto rate = static_cast<double>(rate_ns);
  if (delay >= rate) return event_weight{1, static_cast<std::uint64_t>(delay)};
  if (chance * 0x1p-32 * rate >= delay) return std::nullopt;
  return event_weight{rate / delay, static_cast<std::uint64_t>(rate_ns)};
}

// A profile that takes one event of `fraction`, whatever its length.
inline event_weight weight_of_one_in(std::uint32_t fraction, std::int64_t delay_ns) noexcept {
  return {static_cast<double>(fraction), fraction * static_cast<std::uint64_t>(delay_ns)};
}

}  // namespace sley::parts
