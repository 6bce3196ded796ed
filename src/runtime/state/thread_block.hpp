// Goroutines that put their thread to sleep in the kernel without an announcement, and so lose
// their processor: figures of all of them, and the profile by place.
//
// sysmon begins such a block where it takes the processor (watchdog/thread_blocks.cpp). It ends
// when the goroutine next enters the runtime, or is stopped because it computes without a
// processor. Nothing tells earlier that the thread has woken. A goroutine that goes on into an
// announced call does not enter: sysmon ends the block when it sees the goroutine there.
#pragma once

#include "runtime/state/contention.hpp"
#include "runtime/state/machine.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace sley::rt {

// Its rate is 1 while it is on. The amount of a total is the time from the first look at the
// sleeping thread to the end of the block, the part is the time until its processor was taken, and
// the kind is the number of the system call.
SLEY_HIDDEN extern contention_profile thread_block_profile;

// Kinds that are no system calls.
inline constexpr std::int64_t no_call = platform::sleeping_place::no_call;
inline constexpr std::int64_t unknown_call = -2;
// It has not slept, but computed until it was stopped, because others waited for the processor. The
// amount is the time since the slice began, and the part what is beyond the slice.
inline constexpr std::int64_t no_sleep = -7;

void end_open_thread_block(machine* m) noexcept;

// The machine's goroutine has come back from where it has lost its processor. [inside, or with the
// border closed]
inline void end_thread_block(machine* m) noexcept {
  if (m->block.begin_ns.load_relaxed() != 0) end_open_thread_block(m);
}

// How long the slice has lasted that the goroutine must end; 0 if that is not known, or if another
// goroutine was to end it and has left the processor meanwhile. [inside, with the processor]
std::int64_t used_slice_ns(const machine* m) noexcept;
// The calling goroutine is stopped at the end of that slice. Without a processor, so that no other
// goroutine waits for the walk over the stack, or with it. [inside]
void note_preemption(std::int64_t used_ns) noexcept;

// A block that lasts for long.
struct long_block {
  std::uint32_t total = 0;       // its number in the profile
  std::int64_t duration_ns = 0;  // so far
};

// Such blocks, from sysmon to the one goroutine that reports them. Each place comes once.
class long_block_queue {
 public:
  // Blocks of this duration are added; 0: none, and the goroutine is to end. Any thread.
  std::int64_t threshold_ns() const noexcept { return threshold_ns_.load_relaxed(); }
  // Begins anew. Returns the goroutine that waits, which must be made ready; or null. [inside]
  [[nodiscard]] goroutine* set_threshold(std::int64_t ns) noexcept;

  // The lock that take_or_wait() needs. Held while the goroutine parks.
  detail::lock& lock() noexcept { return lock_; }
  // False: there is none, and the goroutine is made ready when there is one, or is to end. [inside]
  [[nodiscard]] bool take_or_wait(long_block& to, goroutine* g) noexcept;

  // A place that has been here before is left out, and so is any while the queue is full. Returns
  // as set_threshold. [sysmon]
  [[nodiscard]] goroutine* add(const long_block& block) noexcept;

 private:
  static constexpr std::size_t long_blocks_kept = 16;

  detail::lock lock_{detail::lock_rank::waiters};
  // Changed under the lock; relaxed: sysmon's look without it is looked at again under it.
  detail::atomic<std::int64_t> threshold_ns_;
  goroutine* waiter_ = nullptr;                                  // [lock: lock_]
  std::size_t first_ = 0;                                        // [lock: lock_]
  std::size_t size_ = 0;                                         // [lock: lock_]
  long_block blocks_[long_blocks_kept];                          // [lock: lock_] a ring
  std::bitset<contention_profile::totals::capacity> was_added_;  // [lock: lock_] by place
};
SLEY_HIDDEN extern long_block_queue long_blocks;

}  // namespace sley::rt
