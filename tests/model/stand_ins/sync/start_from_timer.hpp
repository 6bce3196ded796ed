// For models of src/sync: no timer of theirs calls anything.
#pragma once

#include "runtime/source/timers.hpp"

#include <cstdint>

namespace sley::rt {

inline void give_record(machine*, goroutine*) noexcept {}

}  // namespace sley::rt

namespace sley::sync {

template <class Call>
rt::goroutine* start_from_timer(rt::timer*, std::int64_t, Call&&) noexcept {
  RL_ASSERT(false);
  return nullptr;
}

}  // namespace sley::sync
