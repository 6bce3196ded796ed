// Notes which goroutine ran on which processor and when, while the tracer is on. The holder of the
// processor notes it, in a ring; runtime/entry/tracer.hpp switches the tracer on and off.
#pragma once

#include <sley/detail/atomic.hpp>

#include "parts/event_ring.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::rt {

// One run of a goroutine on a processor, without a break.
struct run_event {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint64_t goroutine;
  const void* created_at;
  const char* end;  // why it ended: the wait reason, or a word
  std::uint32_t machine;
  std::uint8_t name_size;
  char name_bytes[goroutine_extra::max_name];

  std::string_view name() const noexcept { return {name_bytes, name_size}; }
};

struct run_trace {
  parts::event_ring<run_event, 16'384> events;
  run_event* current = nullptr;        // [owner of the processor] the present run
  detail::atomic<std::uint64_t> lost;  // relaxed: the number of events for which there was no room
};

// By the holder of the processor, if its `trace` is not null.
void trace_begin(processor* p, const machine* m, const goroutine* g) noexcept;
void trace_end(processor* p, const char* why) noexcept;
// The processor is being released.
void trace_release(processor* p, const machine* m) noexcept;

}  // namespace sley::rt
