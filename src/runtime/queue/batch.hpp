// Batches: system calls of several goroutines that the kernel is asked to make in one go, where the
// program wants it so (SLEYDEBUG=uring=1). A goroutine that is about to make a call that does not
// wait joins the batch of its processor, if other goroutines wait for their turns there, and parks.
// Once the processor has run out of work, its machine makes all calls of the batch by one system
// call, and their goroutines are runnable again.
//
// An idle processor has no batch: before a processor becomes idle, the thread that has it in hand
// makes the calls.
//
// Where a processor's calls are far between, a goroutine would wait long for the others to save
// little. So goroutines join only where calls come in quick succession, and a batch that is older
// than 50 us is made before another goroutine is taken from the queue. The calls of a batch come
// late by that and the rest of one turn at most, which is a time slice.
#pragma once

#include "platform/call_batch.hpp"
#include "platform/cpu.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

#include <cstdint>

namespace sley::rt {

inline constexpr std::uint64_t longest_batching_ns = 50'000;

// A goroutine's call in a batch, on its own stack.
struct joined_call {
  goroutine* g;
  const platform::batched_call& call;
  std::int32_t result;
};

// For a new processor, where the program wants batches. If the kernel refuses them, there is a line
// on stderr for the first processor. At boot, and [stw].
void open_batch(processor* p) noexcept;

// The rest is for the holder of the processor, or for the thread that has it in hand.

// The goroutine that runs on this machine is about to make a call: may it join the batch?
bool may_join(const machine* m) noexcept;
// The goroutine of the call is parked.
void join(processor* p, joined_call& call) noexcept;
// Has a batch waited for other goroutines to join for long enough?
[[gnu::always_inline]] inline bool is_batch_due(const processor* p) noexcept {
  return __builtin_expect(has_batch(p), 0) && platform::cycle_counter() - p->batch_from_cycles >
                                                  platform::counter_ticks(longest_batching_ns);
}
// Makes the calls of a batch that is not empty. Returns the goroutines, which must be made ready.
goroutine_list make_batch(processor* p) noexcept;

}  // namespace sley::rt
