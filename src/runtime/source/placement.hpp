// Chooses the poll set, and so the processor, of a descriptor that a goroutine reads. See
// placement.cpp.
#pragma once

#include "runtime/source/descriptor.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

inline constexpr std::uint8_t waits_to_first_choice = 4;  // short connections stay where they began

// Requires the record's lock, as all functions here do. [inside]
void choose_poll_set(watched* w, processor* p) noexcept;

// A reader is about to wait for an event, on this processor; null: on a thread without one.
[[gnu::always_inline]] inline void note_wait(watched* w, processor* p) noexcept {
  if (p == nullptr || !w->is_polled || sched.poll_set_count.read_relaxed() == 1) return;
  ++w->waits;
  if (poll_set_of(p) != w->set) ++w->waits_away;
  if (w->waits >= w->waits_to_choice) choose_poll_set(w, p);
}

}  // namespace sley::rt
