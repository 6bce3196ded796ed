// The figures of <sley/runtime.hpp>.
#include <sley/runtime.hpp>

#include "platform/os.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

namespace sley::runtime {

namespace {

std::uint64_t sum(detail::atomic<std::uint64_t> rt::counters::* counter) noexcept {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < rt::sched.procs; ++i) {
    total += (rt::sched.processors[i].figures.*counter).load_relaxed();
  }
  return total;
}

// Ended goroutines first: one that ends between the two sums is counted as living, not as minus
// one.
std::uint64_t living() noexcept {
  const std::uint64_t finished = sum(&rt::counters::finished);
  return sum(&rt::counters::spawned) + rt::sched.spawned.load_relaxed() - finished;
}

}  // namespace

int max_procs() noexcept {
  rt::boot();
  return static_cast<int>(rt::sched.procs);
}

int num_cpu() noexcept { return platform::available_cpus(); }

std::size_t num_goroutines() noexcept { return living(); }

stats read_stats() noexcept {
  rt::boot();
  stats s = {};
  s.goroutines = living();
  s.threads = rt::sched.machine_count.load_relaxed();
  s.spinning_threads = rt::sched.gate.searching();
  s.procs = rt::sched.procs;
  s.idle_procs = rt::sched.gate.idle();
  s.global_queue = rt::sched.queue.size();
  for (std::uint32_t i = 0; i < rt::sched.procs; ++i) {
    rt::processor& p = rt::sched.processors[i];
    s.local_queues += p.queue.size() + (p.next.is_empty() ? 0 : 1);
    detail::lock_guard guard(p.timers.lock);
    s.timers += p.timers.heap.size();
  }
  {
    detail::lock_guard guard(rt::sched.lock);
    s.idle_threads = rt::sched.idle_machine_count;
  }
  s.spawned = sum(&rt::counters::spawned) + rt::sched.spawned.load_relaxed();
  s.switches = sum(&rt::counters::switches);
  s.steals = sum(&rt::counters::steals);
  s.parks = sum(&rt::counters::parks);
  s.preemptions = sum(&rt::counters::preemptions);
  s.thread_wakes = rt::sched.thread_wakes.load_relaxed();
  s.stack_bytes_reserved = rt::sched.stacks.reserved_bytes();
  s.stacks = rt::sched.stacks.made();
  return s;
}

}  // namespace sley::runtime
