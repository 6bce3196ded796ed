// What happens on the processors while a trace is on: which goroutine runs, why it stops, what it
// makes runnable, and what the program notes. The holder of a processor writes it into the
// processor's ring; runtime/entry/tracer.hpp switches that on and off.
//
// Off, a trace costs a switch nothing: a processor with a trace has a `next_look` that makes every
// switch pass by sched_meter.cpp. Making a goroutine runnable pays for one branch.
#pragma once

#include <sley/detail/atomic.hpp>

#include "parts/trace_ring.hpp"
#include "runtime/state/departure.hpp"
#include "runtime/state/wait_reason.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::rt {

struct goroutine;
struct machine;
struct processor;

// An event is a slot of a ring: two words. The first is the time, in ticks of
// platform::cycle_counter(), where nothing else is said. The second has the kind, an argument and
// the id of a goroutine, see trace_word.
enum class trace_kind : std::uint8_t {
  gap,           // in no ring, but for readers: events are missing here
  run,           // the goroutine gets the processor; the argument: how the one before left it
  leave,         // the goroutine leaves it, and no other gets it; the argument: how
  ready,         // the one that runs, or the runtime if none does, makes this one runnable
  spawn,         // the same, of a new one
  machine,       // the processor has this machine from now on (its id instead of a goroutine's)
  place,         // where the goroutine was started, instead of the time
  name,          // its name, as a text
  region_begin,  // the program's notes: texts, after the number of a task, or 0
  region_end,    // without text
  task_begin,
  task_end,  // the task's number instead of a text
  log,
  text,  // eight bytes of the text of the event before, instead of the time
};

struct trace_word {
  trace_kind kind;
  std::uint8_t argument;    // a run_end, or how many bytes the text has
  std::uint64_t goroutine;  // the lower 48 bits of its id

  static constexpr unsigned id_bits = 48;

  constexpr std::uint64_t bits() const noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << (id_bits + 8) |
           std::uint64_t{argument} << id_bits | (goroutine & ((std::uint64_t{1} << id_bits) - 1));
  }
  static constexpr trace_word of(std::uint64_t bits) noexcept {
    return {static_cast<trace_kind>(bits >> (id_bits + 8)),
            static_cast<std::uint8_t>(bits >> id_bits), bits & ((std::uint64_t{1} << id_bits) - 1)};
  }
};

// How a run ended: the reason of a wait, or one of these.
enum run_end : std::uint8_t {
  yielded = 128,
  ended,
  preempted,
  in_call,     // the processor was taken from an announced call
  was_asleep,  // the processor was taken from a thread that slept unannounced
  no_run,      // there was none
};
// Text that is never freed.
const char* text_of_end(std::uint8_t end) noexcept;

inline constexpr std::size_t longest_trace_text = 255;

struct run_trace {
  // An event and its text: the number of a task, and eight bytes in each slot.
  static constexpr std::uint64_t longest_event = 2 + (longest_trace_text + 7) / 8;
  // Goroutines that have been described are known by their id here.
  static constexpr std::size_t known_ids = 1024;

  parts::trace_ring<longest_event> events;
  std::uint64_t current = 0;  // [owner] the id of the goroutine that runs; 0: none
  // [owner] A run in the newer half of a ring has the description of its goroutine before it in the
  // ring: when the number of slots reaches this one, all ids are forgotten.
  std::uint64_t forget_at = 0;
  std::uint64_t known[known_ids] = {};  // [owner]
};

// The memory of a trace, zeroed: for each of max_processors a run_trace, and this many slots.
struct trace_memory {
  run_trace* traces = nullptr;
  parts::trace_slot* slots = nullptr;
  std::uint64_t slots_each = 0;  // a power of two
};

// A processor notes what happens from now on, in its part of the memory; null: it does not any
// more. [stw]
void set_trace(processor* p, const trace_memory* memory) noexcept;

// ---- by the holder of the processor, or with the world stopped; if its `trace` is not null ----

// The goroutine gets the processor. The one that runs on `m` loses it by that; null: none does.
void trace_switch(processor* p, const machine* m, const goroutine* next, departure how) noexcept;
// The goroutine leaves the processor, and no other gets it by the same switch.
void trace_leave(processor* p, const goroutine* leaving, departure how) noexcept;
// It leaves and gets it again, because no other wants it.
void trace_yield_alone(processor* p, const goroutine* g) noexcept;
// The machine has got the processor, or is being traced from now on.
void trace_acquire(processor* p, const machine* m) noexcept;
// The processor is being released.
void trace_release(processor* p, const machine* m) noexcept;
void trace_ready(processor* p, const goroutine* g) noexcept;
void trace_spawn(processor* p, const goroutine* g) noexcept;
// What the program notes, of the goroutine that runs. The text is cut at a character.
void trace_note(processor* p, trace_kind kind, std::uint64_t task, std::string_view text) noexcept;
// The goroutine that runs has another name.
void trace_name(processor* p, const goroutine* g) noexcept;

}  // namespace sley::rt
