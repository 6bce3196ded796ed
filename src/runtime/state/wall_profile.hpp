// The wall-clock profile: how long goroutines run and wait, and where. sysmon looks at some of them
// again and again (watchdog/wall_sampler.cpp).
#pragma once

#include "runtime/state/contention.hpp"
#include "runtime/state/label_ref.hpp"

#include <cstdint>
#include <string_view>

namespace sley::rt {

// Its rate is the number of profiles that are being taken. The count of a total is the number of
// looks, the amount is the time of goroutines that they stand for, and the kind is a `wait`, or one
// of the kinds below, together with the goroutine's labels.
SLEY_HIDDEN extern contention_profile wall_profile;

enum wall_kind : std::int64_t {
  wall_in_call = -3,  // the numbers before are other profiles' kinds
  wall_running = -4,
  wall_runnable = -5,
  wall_not_begun = -6,  // runnable, and without a stack: its only frame is where it was started
};

// As in dumps; empty if no look has such a kind. The labels do not matter.
std::string_view text_of_wall_kind(std::int64_t kind) noexcept;

// The kind without labels.
std::int64_t plain_wall_kind(std::int64_t kind) noexcept;
// Null if it has none.
const label_set* labels_of_wall_kind(std::int64_t kind) noexcept;
// The profile keeps a reference to each set of labels that it has seen, 1,024 different ones at
// most. What has other labels is as if it had none. [sysmon]
std::int64_t wall_kind_with(std::int64_t plain_kind, const label_set* labels) noexcept;

}  // namespace sley::rt
