#include "runtime/state/thread_block.hpp"

#include "platform/decisions.hpp"
#include "runtime/state/sched_state.hpp"

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

}  // namespace sley::rt
