#include "runtime/state/contention.hpp"

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/unseen.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/stack_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <span>

namespace sley::rt {

constinit contention_profile block_profile;
constinit contention_profile mutex_profile;

namespace {

// The walk takes 4 KiB of the goroutine's stack.
constexpr std::uintptr_t room_for_walk = 8192;

}  // namespace

[[gnu::noinline]] std::size_t collect_callers(std::span<std::uintptr_t> frames) noexcept {
  if (!platform::finds_own_tables_without_lock()) return 0;
  const platform::own_stack stack = stack_of(current_machine()->g);
  const platform::frame_registers here = platform::registers_here();
  const std::uint64_t sp = here.get(platform::column_sp);  // not there in a signal handler
  if (stack.holds(sp) && sp - stack.low < room_for_walk) return 0;
  platform::stack_walk walk(here, stack.memory());
  return walk.next() && walk.next() ? platform::collect_interrupted_frames(walk, frames) : 0;
}

bool contention_profile::make_room() noexcept {
  if (totals_.read() != nullptr) return true;
  const std::size_t page = platform::page_bytes();
  const std::size_t bytes = (sizeof(totals) + page - 1) / page * page;
  void* place = platform::map_memory(bytes, false);
  if (place == nullptr) return false;
  totals* made = ::new (place) totals;
  if (totals_.publish_first(made) != made) platform::unmap_memory(place, bytes);
  return true;
}

[[gnu::noinline]] void contention_profile::add(parts::event_weight weight) noexcept {
  totals* to = totals_.read();
  if (to == nullptr) return;  // it was switched on a moment ago
  std::uintptr_t frames[parts::stack_total::most_frames];
  const std::size_t count = collect_callers(frames);
  to->add({.stack = {frames, count}, .count = weight.count, .amount = weight.delay_ns});
}

namespace {

std::uint32_t draw_here() noexcept {
  const platform::unseen unseen;
  return platform::draw(current_machine()->random);
}

}  // namespace

void note_wait(std::int64_t delay_ns) noexcept {
  const std::int64_t rate_ns = block_profile.rate();
  if (rate_ns == 0) return;
  const std::uint32_t chance = draw_here();
  const auto weight = parts::weight_of_wait(delay_ns, rate_ns, chance);
  if (weight) block_profile.add(*weight);
}

void count_lock_wait(std::int64_t delay_ns) noexcept {
  const auto ns = static_cast<std::uint64_t>(delay_ns);
  if (const machine* m = current_machine(); m->p != nullptr) {
    count(m->p->figures.lock_wait_ns, ns);
  } else {
    sched.lock_wait_ns.add_relaxed(ns);
  }
}

void note_unlock(std::int64_t delay_ns) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const platform::unseen unseen;
  const auto fraction = static_cast<std::uint32_t>(std::min(mutex_profile.rate(), most));
  if (fraction == 0 || platform::draw_below(current_machine()->random, fraction) != 0) return;
  mutex_profile.add(parts::weight_of_one_in(fraction, delay_ns));
}

}  // namespace sley::rt
