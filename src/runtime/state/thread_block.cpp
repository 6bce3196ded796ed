#include "runtime/state/thread_block.hpp"

#include "platform/decisions.hpp"
#include "runtime/state/sched_state.hpp"

#include <utility>

namespace sley::rt {

constinit contention_profile thread_block_profile;

void end_open_thread_block(machine* m) noexcept {
  const thread_block block = std::exchange(m->block, {});
  const auto duration_ns = static_cast<std::uint64_t>(platform::now_ns() - block.begin_ns);
  sched.thread_block_ns.add_relaxed(duration_ns);
  if (!block.is_in_profile) return;
  thread_block_profile.so_far()->add_amount(block.total, duration_ns);
}

}  // namespace sley::rt
