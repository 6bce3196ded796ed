// Records which goroutine ran on which processor and when, for <sley/debug.hpp>.
//
// While the tracer is on, a reason stays raised at the border of each machine. So goroutines are
// not switched to directly: all switches pass by the machine's own stack, where they are recorded.
// While the tracer is off, it costs nothing.
#pragma once

#include "parts/event_ring.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"
#include "runtime/processor.hpp"

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

// `traces` has a zeroed element for each of max_processors. The caller reads from them and keeps
// them until stop_tracing() has returned. One trace at a time. Both park. Any thread. [user]
void start_tracing(run_trace* traces);
void stop_tracing();

// ---- for the scheduler: called by the holder of the processor, if its `trace` is not null ----
void trace_begin(processor* p, const machine* m, const goroutine* g) noexcept;
void trace_end(processor* p, const char* why) noexcept;
// The processor is being released.
void trace_release(processor* p, const machine* m) noexcept;
// The place for a new processor's events; null while the tracer is off.
run_trace* trace_of(std::uint32_t processor_id) noexcept;

}  // namespace sley::rt
