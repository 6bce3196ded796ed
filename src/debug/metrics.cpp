#include "debug/process_metrics.hpp"
#include "parts/time_histogram.hpp"
#include "runtime/entry/state_counts.hpp"
#include "runtime/state/figures.hpp"
#include "runtime/state/sched_state.hpp"

#include <sley/debug.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace sley::debug {

namespace {

using enum metric::kind;

metric figure(std::string_view name, std::string_view help, metric::kind what,
              std::uint64_t value) {
  return {name, help, what, static_cast<double>(value)};
}

std::vector<metric> plain_figures(const runtime::stats& s) {
  return {
      figure("sley_goroutines", "Goroutines started and not ended.", gauge, s.goroutines),
      figure("sley_threads", "Threads (Ms) of the runtime.", gauge, s.threads),
      figure("sley_idle_threads", "Threads parked for want of work.", gauge, s.idle_threads),
      figure("sley_spinning_threads", "Threads looking for work.", gauge, s.spinning_threads),
      figure("sley_procs", "Processors (Ps).", gauge, s.procs),
      figure("sley_idle_procs", "Processors without a thread.", gauge, s.idle_procs),
      figure("sley_reserve_procs", "Idle processors held back because CPUs are short.", gauge,
             s.reserve_procs),
      figure("sley_global_queue", "Goroutines in the global queue.", gauge, s.global_queue),
      figure("sley_local_queues", "Goroutines in the processors' queues.", gauge, s.local_queues),
      figure("sley_timers", "Timers armed.", gauge, s.timers),
      figure("sley_spawned_total", "Goroutines ever started.", counter, s.spawned),
      figure("sley_switches_total", "Times a goroutine was given a processor.", counter,
             s.switches),
      figure("sley_steals_total", "Goroutines taken from another processor's queue.", counter,
             s.steals),
      figure("sley_parks_total", "Times a goroutine waited.", counter, s.parks),
      figure("sley_hand_offs_total", "Processors handed to another thread.", counter, s.hand_offs),
      figure("sley_retakes_total", "Processors taken from a thread that blocked.", counter,
             s.retakes),
      figure("sley_preemptions_total", "Ends of time slices.", counter, s.preemptions),
      figure("sley_thread_wakes_total", "Times a sleeping thread was woken.", counter,
             s.thread_wakes),
      figure("sley_stack_bytes_reserved", "Address space held for stacks.", gauge,
             s.stack_bytes_reserved),
      figure("sley_stacks", "Stacks made.", gauge, s.stacks),
  };
}

// The figures are of slightly different moments, so what is left for `waiting` may be a few more or
// less than there are.
void append_states(std::vector<metric>& all, const runtime::stats& s) {
  const rt::state_counts counts = rt::count_by_state();
  const std::uint64_t runnable = s.global_queue + s.local_queues;
  const std::uint64_t others = runnable + counts.running + counts.in_calls;
  const auto append = [&all](const char* state, std::uint64_t count) {
    metric m = figure("sley_goroutines_by_state", "Goroutines by what they do.", gauge, count);
    m.labels = {{"state", state}};
    all.push_back(std::move(m));
  };
  append("running", counts.running);
  append("runnable", runnable);
  append("syscall", counts.in_calls);
  append("waiting", s.goroutines - std::min(others, s.goroutines));
}

// The processors exist: read_stats() has booted.
void append_queues(std::vector<metric>& all, std::uint64_t procs) {
  for (std::uint64_t i = 0; i < procs; ++i) {
    metric m = figure("sley_local_queue", "Goroutines in the queue of each processor.", gauge,
                      rt::queued_at(rt::sched.processors[i]));
    m.labels = {{"p", std::to_string(i)}};
    all.push_back(std::move(m));
  }
}

constexpr double ns_per_s = 1e9;

void append_thread_blocks(std::vector<metric>& all) {
  all.push_back(figure("sley_unannounced_blocks_total",
                       "Processors taken from threads that slept without an announcement.", counter,
                       rt::sched.thread_blocks.load_relaxed()));
  all.push_back({"sley_unannounced_block_seconds_total",
                 "Time from then until the goroutines of those threads came back.", counter,
                 static_cast<double>(rt::sched.thread_block_ns.load_relaxed()) / ns_per_s});
  all.push_back({"sley_overrun_seconds_total",
                 "Time for which goroutines that were preempted had run beyond their slices.",
                 counter, static_cast<double>(rt::sched.overrun_ns.load_relaxed()) / ns_per_s});
}

void append_times(std::vector<metric>& all, std::string_view name, std::string_view help,
                  const rt::time_totals& times) {
  metric m = {name, help, histogram};
  for (const std::int64_t bound : parts::time_histogram::bounds_ns) {
    m.distribution.bounds.push_back(static_cast<double>(bound) / ns_per_s);
  }
  m.distribution.counts.assign(std::begin(times.counts), std::end(times.counts));
  m.distribution.sum = static_cast<double>(times.sum_ns) / ns_per_s;
  all.push_back(std::move(m));
}

void append_scheduling(std::vector<metric>& all) {
  append_times(all, "sley_sched_latency_seconds",
               "How long runnable goroutines waited to run: of 1 switch in 512, or in schedsample.",
               rt::sum(&rt::sched_meter::waits));
  append_times(all, "sley_run_seconds",
               "How long goroutines kept a processor: of 1 switch in 512, or in schedsample.",
               rt::sum(&rt::sched_meter::runs));
  const std::uint64_t waited_ns =
      rt::sum(&rt::counters::lock_wait_ns) + rt::sched.lock_wait_ns.load_relaxed();
  all.push_back({"sley_mutex_wait_seconds_total",
                 "How long goroutines and threads have waited for mutexes and shared_mutexes.",
                 counter, static_cast<double>(waited_ns) / ns_per_s});
}

void append_build(std::vector<metric>& all) {
#ifdef __clang__
  const char* const compiler = "clang++ " __clang_version__;
#else
  const char* const compiler = "g++ " __VERSION__;
#endif
  metric m = figure("sley_build_info", "1; the labels say what the library is.", gauge, 1);
  m.labels = {{"version", SLEY_VERSION}, {"compiler", compiler}};
  all.push_back(std::move(m));
}

}  // namespace

std::vector<metric> metrics() {
  const runtime::stats s = runtime::read_stats();
  std::vector<metric> all = plain_figures(s);
  append_states(all, s);
  append_queues(all, s.procs);
  append_thread_blocks(all);
  append_scheduling(all);
  append_build(all);
  append_process_metrics(all);
  return all;
}

}  // namespace sley::debug
