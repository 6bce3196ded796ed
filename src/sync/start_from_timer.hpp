// Lets a timer's function start a goroutine that makes a call.
#pragma once

#include <sley/detail/spawn.hpp>

#include "runtime/source/timers.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/records.hpp"

#include <cstdint>
#include <new>

namespace sley::sync {

// The goroutine, for the timer's function to return. Null if there is no memory for one: then the
// timer fires again in a while, and `call` has not been moved from.
template <class Call>
rt::goroutine* start_from_timer(rt::timer* t, std::int64_t now_ns, Call&& call) noexcept {
  constexpr std::int64_t retry_ns = 1'000'000;
  rt::machine* m = rt::current_machine();
  rt::goroutine* g = rt::take_record(m);
  if (g == nullptr) {
    rt::insert_again(t, now_ns + retry_ns);
    return nullptr;
  }
  ::new (g->task) Call(static_cast<Call&&>(call));
  g->run = &detail::run_task<Call>;
  g->id = rt::next_goroutine_id(m);
  return g;
}

}  // namespace sley::sync
