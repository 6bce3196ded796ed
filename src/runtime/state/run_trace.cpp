
#include "runtime/state/run_trace.hpp"

#include "platform/decisions.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

void trace_begin(processor* p, const machine* m, const goroutine* g) noexcept {
  run_trace& trace = *p->trace;
  run_event* e = trace.events.begin();
  trace.current = e;
  if (e == nullptr) {
    trace.lost.store_relaxed(trace.lost.load_relaxed() + 1);
    return;
  }
  const std::string_view name = g->name();
  *e = {.begin_ns = platform::now_ns(),
        .end_ns = 0,
        .goroutine = g->id,
        .created_at = g->created_at,
        .end = nullptr,
        .machine = m->id,
        .name_size = static_cast<std::uint8_t>(name.size()),
        .name_bytes = {}};
  std::ranges::copy(name, e->name_bytes);
}

void trace_end(processor* p, const char* why) noexcept {
  run_event* e = std::exchange(p->trace->current, nullptr);
  if (e == nullptr) return;
  e->end_ns = platform::now_ns();
  e->end = why;
  p->trace->events.publish();
}

void trace_release(processor* p, const machine* m) noexcept {
  if (p->trace->current == nullptr) return;
  switch (m->g->status.get()) {
    case parts::status::waiting: return trace_end(p, text_of(m->g->reason));
    case parts::status::runnable: return trace_end(p, "preempted");
    case parts::status::dead: return trace_end(p, "ended");
    default: return trace_end(p, m->border.call() != 0 ? "syscall" : "asleep in the kernel");
  }
}

}  // namespace sley::rt
