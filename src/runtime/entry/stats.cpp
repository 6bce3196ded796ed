// The figures of <sley/runtime.hpp>.
#include <sley/runtime.hpp>

#include "platform/os.hpp"
#include "runtime/entry/boot.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/figures.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::runtime {

namespace {

// Locks are taken only inside, where no goroutine can be stopped. A foreign thread may take them
// without entering, and so does not end a pause between two run()s.
class inside_runtime {
 public:
  inside_runtime() noexcept {
    const rt::machine* m = rt::this_machine();
    is_inside_ = m != nullptr && !m->is_foreign;
    if (is_inside_) rt::enter();
  }
  ~inside_runtime() {
    if (is_inside_) rt::leave();
  }
  inside_runtime(const inside_runtime&) = delete;
  inside_runtime& operator=(const inside_runtime&) = delete;

 private:
  bool is_inside_;
};

}  // namespace

int max_procs() noexcept {
  rt::boot();
  return static_cast<int>(rt::sched.procs.read());
}

int num_cpu() noexcept { return platform::available_cpus(); }

std::size_t num_goroutines() noexcept { return rt::living_goroutines(); }

stats read_stats() noexcept {
  rt::boot();
  const inside_runtime inside;
  stats s = {};
  s.goroutines = rt::living_goroutines();
  s.threads = rt::sched.threads.machines.load_relaxed();
  s.spinning_threads = rt::sched.gate.searching();
  s.procs = rt::sched.procs.read();
  s.idle_procs = rt::sched.gate.idle();
  s.reserve_procs = rt::sched.gate.reserve();
  s.global_queue = rt::sched.queue.size();
  for (std::uint32_t i = 0; i < s.procs; ++i) {
    rt::processor& p = rt::sched.processors[i];
    s.local_queues += rt::queued_at(p);
    detail::lock_guard guard(p.timers.lock);
    s.timers += p.timers.heap.size();
  }
  s.idle_threads = rt::sched.idle_machine_count.load_relaxed();
  s.spawned = rt::spawned_goroutines();
  s.switches = rt::sum(&rt::counters::switches);
  s.steals = rt::sum(&rt::counters::steals);
  s.parks = rt::sum(&rt::counters::parks);
  s.hand_offs = rt::sched.hand_offs.load_relaxed();
  s.retakes = rt::sched.retakes.load_relaxed();
  s.preemptions = rt::sum(&rt::counters::preemptions) + rt::sched.preemptions.load_relaxed();
  s.thread_wakes = rt::sched.thread_wakes.load_relaxed();
  s.stack_bytes_reserved = rt::sched.stacks.reserved_bytes();
  s.stacks = rt::sched.stacks.made();
  return s;
}

}  // namespace sley::runtime
