// The figures of <sley/runtime.hpp>.
#include <sley/runtime.hpp>

#include "platform/os.hpp"
#include "runtime/enter.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

namespace sley::runtime {

namespace {

std::uint64_t sum(detail::atomic<std::uint64_t> rt::counters::* counter) noexcept {
  std::uint64_t total = 0;
  const std::uint32_t made = rt::sched.made_procs.read();
  for (std::uint32_t i = 0; i < made; ++i) {
    total += (rt::sched.processors[i].figures.*counter).load_relaxed();
  }
  return total;
}

// Reads the ended goroutines first, so that a goroutine that ends between the two sums counts as
// living and not as minus one.
std::uint64_t living() noexcept {
  const std::uint64_t finished = sum(&rt::counters::finished);
  return sum(&rt::counters::spawned) + rt::sched.spawned.load_relaxed() - finished;
}

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

std::size_t num_goroutines() noexcept { return living(); }

stats read_stats() noexcept {
  rt::boot();
  const inside_runtime inside;
  stats s = {};
  s.goroutines = living();
  s.threads = rt::sched.machine_count.load_relaxed();
  s.spinning_threads = rt::sched.gate.searching();
  s.procs = rt::sched.procs.read();
  s.idle_procs = rt::sched.gate.idle();
  s.reserve_procs = rt::sched.gate.reserve();
  s.global_queue = rt::sched.queue.size();
  for (std::uint32_t i = 0; i < s.procs; ++i) {
    rt::processor& p = rt::sched.processors[i];
    s.local_queues += p.queue.size() + (p.next.is_empty() ? 0 : 1);
    detail::lock_guard guard(p.timers.lock);
    s.timers += p.timers.heap.size();
  }
  s.idle_threads = rt::sched.idle_machine_count.load_relaxed();
  s.spawned = sum(&rt::counters::spawned) + rt::sched.spawned.load_relaxed();
  s.switches = sum(&rt::counters::switches);
  s.steals = sum(&rt::counters::steals);
  s.parks = sum(&rt::counters::parks);
  s.hand_offs = rt::sched.hand_offs.load_relaxed();
  s.retakes = rt::sched.retakes.load_relaxed();
  s.preemptions = sum(&rt::counters::preemptions) + rt::sched.preemptions.load_relaxed();
  s.thread_wakes = rt::sched.thread_wakes.load_relaxed();
  s.stack_bytes_reserved = rt::sched.stacks.reserved_bytes();
  s.stacks = rt::sched.stacks.made();
  return s;
}

}  // namespace sley::runtime
