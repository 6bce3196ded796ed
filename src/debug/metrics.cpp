#include <sley/debug.hpp>
#include <sley/runtime.hpp>

namespace sley::debug {

std::vector<metric> metrics() {
  using enum metric::kind;
  const runtime::stats s = runtime::read_stats();
  return {
      {"sley_goroutines", "Goroutines started and not ended.", gauge, s.goroutines},
      {"sley_threads", "Threads (Ms) of the runtime.", gauge, s.threads},
      {"sley_idle_threads", "Threads parked for want of work.", gauge, s.idle_threads},
      {"sley_spinning_threads", "Threads looking for work.", gauge, s.spinning_threads},
      {"sley_procs", "Processors (Ps).", gauge, s.procs},
      {"sley_idle_procs", "Processors without a thread.", gauge, s.idle_procs},
      {"sley_reserve_procs", "Idle processors held back while other processes use the CPUs.", gauge,
       s.reserve_procs},
      {"sley_global_queue", "Goroutines in the global queue.", gauge, s.global_queue},
      {"sley_local_queues", "Goroutines in the processors' queues.", gauge, s.local_queues},
      {"sley_timers", "Timers armed.", gauge, s.timers},
      {"sley_spawned_total", "Goroutines ever started.", counter, s.spawned},
      {"sley_switches_total", "Times a goroutine was given a processor.", counter, s.switches},
      {"sley_steals_total", "Goroutines taken from another processor's queue.", counter, s.steals},
      {"sley_parks_total", "Times a goroutine waited.", counter, s.parks},
      {"sley_hand_offs_total", "Processors handed to another thread.", counter, s.hand_offs},
      {"sley_retakes_total", "Processors taken from a thread that blocked.", counter, s.retakes},
      {"sley_preemptions_total", "Ends of time slices.", counter, s.preemptions},
      {"sley_thread_wakes_total", "Times a sleeping thread was woken.", counter, s.thread_wakes},
      {"sley_stack_bytes_reserved", "Address space held for stacks.", gauge,
       s.stack_bytes_reserved},
      {"sley_stacks", "Stacks made.", gauge, s.stacks},
  };
}

}  // namespace sley::debug
