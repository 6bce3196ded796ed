// Records which goroutine ran on which processor and when, for <sley/debug.hpp>.
//
// While the tracer is on, a reason stays raised at the border of each machine. So goroutines are
// not switched to directly: all switches pass by the machine's own stack, where they are recorded.
// While the tracer is off, it costs nothing.
#pragma once

#include "runtime/state/run_trace.hpp"

namespace sley::rt {

// `traces` has a zeroed element for each of max_processors. The caller reads from them and keeps
// them until stop_tracing() has returned. One trace at a time. Both park. Any thread. [user]
void start_tracing(run_trace* traces);
void stop_tracing();

}  // namespace sley::rt
