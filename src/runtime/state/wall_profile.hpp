// The wall-clock profile: how long goroutines run and wait, and where. sysmon looks at some of them
// again and again (watchdog/wall_sampler.cpp).
#pragma once

#include "runtime/state/contention.hpp"

#include <cstdint>
#include <string_view>

namespace sley::rt {

// Its rate is the number of profiles that are being taken. The count of a total is the number of
// looks, the amount is the time of goroutines that they stand for, and the kind is a `wait`, or one
// of the kinds below.
SLEY_HIDDEN extern contention_profile wall_profile;

enum wall_kind : std::int64_t {
  wall_in_call = -3,  // the numbers before are other profiles' kinds
  wall_running = -4,
  wall_runnable = -5,
  wall_not_begun = -6,  // runnable, and without a stack: its only frame is where it was started
};

// As in dumps; empty if no look has such a kind.
std::string_view text_of_wall_kind(std::int64_t kind) noexcept;

}  // namespace sley::rt
