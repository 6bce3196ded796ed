// What ran on which processor, and when, for <sley/debug.hpp>.
//
// While it is on, the border of each machine has something to attend to all the time, so goroutines
// are not switched to directly: all switches pass by the machine's own stack, where they are noted.
// While it is off, that costs nothing.
#pragma once

#include "parts/event_ring.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"
#include "runtime/processor.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::rt {

// A goroutine has run on a processor without a break.
struct run_event {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint64_t goroutine;
  const void* created_at;
  const char* end;  // why: what it waits for, or in words
  std::uint32_t machine;
  std::uint8_t name_size;
  char name_bytes[goroutine_extra::max_name];

  std::string_view name() const noexcept { return {name_bytes, name_size}; }
};

struct run_trace {
  parts::event_ring<run_event, 16'384> events;
  run_event* current = nullptr;        // [owner of the processor] the one that has begun
  detail::atomic<std::uint64_t> lost;  // relaxed: a figure; there was no room for them
};

// One for each of max_processors, zeroed, which the caller reads from and keeps until
// stop_tracing() has returned. One at a time. They park; any thread. [user]
void start_tracing(run_trace* traces);
void stop_tracing();

// ---- for the scheduler: by the holder of the processor, if its `trace` is not null ----
void trace_begin(processor* p, const machine* m, const goroutine* g) noexcept;
void trace_end(processor* p, const char* why) noexcept;
// Of a processor that is being released.
void trace_release(processor* p, const machine* m) noexcept;
// Where a new processor's events go.
run_trace* trace_of(std::uint32_t processor_id) noexcept;

}  // namespace sley::rt
