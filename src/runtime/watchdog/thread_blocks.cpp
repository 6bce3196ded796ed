#include "runtime/watchdog/thread_blocks.hpp"

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/thread_block.hpp"

namespace sley::rt {

namespace {

// The goroutine may wake at any time, but stays in user code while the border is closed, so its
// stack stays where it is. sysmon takes no lock of libc: without a way to search for unwind tables
// that needs none there are no frames.
std::uint32_t add_to_profile(const machine* m, std::int64_t lost_ns) noexcept {
  stack_trace trace;
  platform::sleeping_place place;
  place.call = unknown_call;
  if (platform::finds_own_tables_without_lock()) look_at_sleeping(m->g, m, trace, place);
  const auto lost = static_cast<std::uint64_t>(lost_ns);
  return thread_block_profile.so_far()->add(
      {.stack = trace.view(), .amount = lost, .part = lost, .kind = place.call});
}

}  // namespace

void begin_thread_block(machine* m, std::int64_t rest_from_ns) noexcept {
  const std::int64_t now_ns = platform::now_ns();
  m->block.begin_ns.store_relaxed(now_ns);
  m->block.is_in_profile = thread_block_profile.is_on() && thread_block_profile.so_far() != nullptr;
  sched.thread_blocks.add_relaxed(1);
  if (m->block.is_in_profile) m->block.total = add_to_profile(m, now_ns - rest_from_ns);
}

void report_thread_block_if_long(const machine* m) noexcept {
  const std::int64_t threshold_ns = long_blocks.threshold_ns();
  const std::int64_t begin_ns = m->block.begin_ns.load_relaxed();
  if (threshold_ns == 0 || begin_ns == 0 || !m->block.is_in_profile) return;
  const std::int64_t duration_ns = platform::now_ns() - begin_ns;
  if (duration_ns < threshold_ns) return;
  if (goroutine* g = long_blocks.add({m->block.total, duration_ns})) ready_from_outside(g);
}

void end_thread_block_in_call(machine* m) noexcept {
  const std::uint32_t call = m->border.call();
  const bool has_lost = (m->border.attention() & parts::border::lost) != 0;
  if (call == 0 || !has_lost) return;
  if (m->border.claim(call) && m->p == nullptr) end_thread_block(m);
  m->border.open();
}

}  // namespace sley::rt
