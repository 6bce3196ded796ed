#include "runtime/state/thread_block.hpp"

#include "platform/decisions.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

constinit contention_profile thread_block_profile;
constinit long_block_queue long_blocks;

bool long_block_queue::take_or_wait(long_block& to, goroutine* g) noexcept {
  if (size_ != 0) {
    to = blocks_[first_++ % long_blocks_kept];
    --size_;
    return true;
  }
  waiter_ = g;
  return false;
}

goroutine* long_block_queue::add(const long_block& block) noexcept {
  const detail::lock_guard guard(lock_);
  const bool has_room = size_ != long_blocks_kept && threshold_ns_.load_relaxed() != 0;
  if (!has_room || was_added_.test(block.total)) return nullptr;
  was_added_.set(block.total);
  blocks_[(first_ + size_++) % long_blocks_kept] = block;
  return std::exchange(waiter_, nullptr);
}

goroutine* long_block_queue::set_threshold(std::int64_t ns) noexcept {
  const detail::lock_guard guard(lock_);
  threshold_ns_.store_relaxed(ns);
  was_added_.reset();
  size_ = 0;
  return std::exchange(waiter_, nullptr);
}

void end_open_thread_block(machine* m) noexcept {
  const std::int64_t begin_ns = m->block.begin_ns.load_relaxed();
  const auto duration_ns = static_cast<std::uint64_t>(platform::now_ns() - begin_ns);
  m->block.begin_ns.store_relaxed(0);
  sched.thread_block_ns.add_relaxed(duration_ns);
  if (!m->block.is_in_profile) return;
  thread_block_profile.so_far()->add_amount(m->block.total, duration_ns);
}

std::int64_t used_slice_ns(const machine* m) noexcept {
  const std::int64_t from_ns = m->slice.from_ns.load_relaxed();  // AT-1 orders it
  const bool is_its_own = m->slice.switches.load_relaxed() == m->p->figures.switches.load_relaxed();
  return from_ns != 0 && is_its_own ? platform::now_ns() - from_ns : 0;
}

[[gnu::noinline]] void note_preemption(std::int64_t used_ns) noexcept {
  if (used_ns == 0) return;
  const auto beyond_ns =
      static_cast<std::uint64_t>(std::max<std::int64_t>(used_ns - debug_options().slice_ns, 0));
  sched.overrun_ns.add_relaxed(beyond_ns);
  contention_profile::totals* to = thread_block_profile.so_far();
  if (!thread_block_profile.is_on() || to == nullptr) return;
  std::uintptr_t frames[parts::stack_total::most_frames];
  const std::size_t count = collect_callers(frames);
  to->add({.stack = {frames, count},
           .amount = static_cast<std::uint64_t>(used_ns),
           .part = beyond_ns,
           .kind = no_sleep});
}

}  // namespace sley::rt
