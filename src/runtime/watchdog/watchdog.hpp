// All that sysmon remembers from one look to the next. Only sysmon's thread uses it, and the
// thread that boots before it begins.
#pragma once

#include "runtime/inspect/sched_trace.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/cpu_spread.hpp"
#include "runtime/watchdog/detached.hpp"
#include "runtime/watchdog/pace.hpp"
#include "runtime/watchdog/reserve.hpp"
#include "runtime/watchdog/retake.hpp"
#include "runtime/watchdog/threads.hpp"
#include "runtime/watchdog/trim.hpp"
#include "runtime/watchdog/wall_sampler.hpp"
#include "runtime/watchdog/world.hpp"

#include <cstdint>

namespace sley::rt {

struct watchdog_state {
  pace looks_due;                             // how often sysmon looks
  std::int64_t woken_ns = 0;                  // when work last ended a rest
  bool comes_seldom = false;                  // that work came long after the work before it
  std::int64_t due_ns = 0;                    // when the present look was due
  last_look looks[max_processors];            // retake.cpp: by processor
  detached_list detached;                     // detached.cpp: machines without a processor
  late_sets late;                             // poll_sets.cpp: descriptors that no machine polls
  cpu_spread spread;                          // cpu_spread.cpp: which machine is on which CPU
  reserve_policy reserve;                     // reserve.cpp: processors that are not worth a thread
  shut_out_machine shut_out[max_processors];  // world.cpp: by processor, while the world is stopped
  bool follows_limits = true;    // world.cpp: the number of processors follows the CPUs
  std::int64_t house_ns = 0;     // when the duties of once a second are due
  idle_threads threads;          // threads.cpp
  stack_trimmer trimmer;         // trim.cpp
  std::int64_t trim_due_ns = 0;  // when there is more to give back
  sched_tracer trace;            // sched_trace.cpp
  wall_sampler wall;             // wall_sampler.cpp
};

extern watchdog_state watchdog;

}  // namespace sley::rt
