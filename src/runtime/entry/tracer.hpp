// Switches traces on and off for <sley/debug.hpp>, and takes the program's notes for them.
#pragma once

#include "runtime/state/run_trace.hpp"

#include <cstdint>
#include <string_view>

namespace sley::rt {

// All processors note what happens, in this memory, which the caller keeps until stop_tracing() has
// returned. Anyone may read the rings meanwhile. If a trace is on already, it goes on in the same
// memory, and the machines and goroutines that have processors are noted once more. Both park. Any
// thread. [user]
void start_tracing(const trace_memory& memory);
void stop_tracing();

// What starts a flight recorder for SLEYDEBUG=flight=PATH, or does nothing where the program has
// one of its own. It is set where the recorder is linked, while the program is loaded.
using recorder_start = void (*)() noexcept;
void set_recorder_start(recorder_start start) noexcept;
// Before each run(). If there is such a setting, starts the recorder, or says why that can't be.
// May park. Any thread. [user]
void start_recorder_of_setting() noexcept;

// Notes something for the calling goroutine, if a trace is on and the goroutine has a processor.
// Never parks. Any thread, but only goroutines have processors. [user]
void note_in_trace(trace_kind kind, std::uint64_t task, std::string_view text) noexcept;
void note_name_in_trace() noexcept;

}  // namespace sley::rt
