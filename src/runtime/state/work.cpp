
#include "runtime/state/work.hpp"

#include "platform/decisions.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>

namespace sley::rt {

bool is_anything_queued() noexcept {
  if (!sched.queue.is_empty()) return true;
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    if (has_local_work(&sched.processors[i])) return true;
  }
  return false;
}

bool is_any_batch_waiting() noexcept {
  const std::uint32_t procs = sched.procs.read();
  return sched.batches_calls && std::any_of(sched.processors, sched.processors + procs,
                                            [](const processor& p) { return has_batch(&p); });
}

std::int64_t earliest_timer() noexcept {
  std::int64_t earliest = never;
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    earliest = std::min(earliest, sched.processors[i].timers.first_ns.load_relaxed());
  }
  return earliest;
}

bool is_work_waiting(const processor* p) noexcept {
  if (has_own_work(p) || !sched.queue.is_empty()) return true;
  const std::int64_t first = earliest_timer();
  return first != never && first <= platform::now_ns();
}

}  // namespace sley::rt
