// Is there work? One place for all the questions that a machine, a waker or sysmon asks. Any thread
// may ask; an answer may be outdated at once, so a caller that acts on it follows WG-1.
#pragma once

#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

// Is a goroutine queued, locally or globally? (One processor's queue: has_local_work.)
bool is_anything_queued() noexcept;

// Does a goroutine wait for a call that is made together with others? No other machine than that of
// its processor can take up this work.
bool is_any_batch_waiting() noexcept;

// When the first timer of all processors is due; `never` if there is none.
std::int64_t earliest_timer() noexcept;

// Would another goroutine run if this processor's goroutine stopped?
bool is_work_waiting(const processor* p) noexcept;

// Are all processors idle, and does no machine look for work?
inline bool are_all_idle() noexcept {
  return sched.gate.idle() == sched.procs.read_relaxed() && sched.gate.searching() == 0;
}

// Is there any descriptor that a goroutine may wait for?
inline bool is_anything_watched() noexcept { return sched.watched_count.read_relaxed() != 0; }

// Are descriptors watched while no machine is the poller?
inline bool is_poller_missing() noexcept {
  // WG-1: a machine that gives the role up, or has found nothing watched, goes idle afterwards.
  return is_anything_watched() && !sched.poller.role.is_taken();
}

}  // namespace sley::rt
