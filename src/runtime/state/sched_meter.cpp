
#include "runtime/state/sched_meter.hpp"

#include "platform/decisions.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/run_trace.hpp"

#include <utility>

namespace sley::rt {

namespace {

// A stamp goes round after 68 s.
constexpr unsigned stamp_shift = 4;  // 16 ns

std::uint32_t stamp_of(std::int64_t ns) noexcept {
  return static_cast<std::uint32_t>(ns >> stamp_shift);
}

// From 1 to twice the period, the period on average. No decision of a simulation: what is measured
// changes nothing.
std::uint64_t draw_distance(sched_meter& meter) noexcept {
  return 1 + meter.random.below(2 * debug_options().sched_sample - 1);
}

void mark(goroutine* g, std::int64_t now_ns) noexcept {
  g->runnable_since = stamp_of(now_ns);  // if it yields; otherwise its waker writes it anew
  g->needs.or_acq_rel(timed, "TR-1");
}

void end_run(sched_meter& meter, std::int64_t now_ns) noexcept {
  if (const std::int64_t began_ns = std::exchange(meter.run_began_ns, 0)) {
    meter.runs.add(now_ns - began_ns);
  }
}

void look_next_at(processor* p, std::uint64_t number) noexcept {
  p->meter.next_look = p->trace != nullptr ? 0 : number;
}

// False: the look was for a trace that is on, or was until now.
bool has_to_measure(processor* p, std::uint64_t number) noexcept {
  if (p->meter.run_began_ns != 0 || number >= p->meter.next_measured) return true;
  look_next_at(p, p->meter.next_measured);
  return false;
}

void measure_switch(processor* p, const machine* m, std::uint64_t number) noexcept {
  sched_meter& meter = p->meter;
  const std::int64_t now_ns = platform::now_ns();
  end_run(meter, now_ns);
  look_next_at(p, meter.next_measured);
  if (number < meter.next_measured) return;
  if (m != nullptr) mark(m->g, now_ns);
  meter.run_began_ns = now_ns;
  look_next_at(p, number + 1);
  meter.next_measured = number + draw_distance(meter);
}

void measure_leave(processor* p, goroutine* leaving, std::uint64_t number) noexcept {
  sched_meter& meter = p->meter;
  const std::int64_t now_ns = platform::now_ns();
  end_run(meter, now_ns);
  look_next_at(p, meter.next_measured);
  if (number >= meter.next_measured && leaving != nullptr) mark(leaving, now_ns);
}

}  // namespace

void start_meter(processor* p) noexcept {
  sched_meter& meter = p->meter;
  meter.random = base::random(p->id);
  meter.next_look = meter.next_measured = draw_distance(meter);
  meter.next_spawned = meter.next_measured_spawn = draw_distance(meter);
}

[[gnu::noinline]] void look_at_switch(processor* p, const machine* m, goroutine* next,
                                      departure how) noexcept {
  if (p->trace != nullptr) trace_switch(p, m, next, how);
  const std::uint64_t number = p->figures.switches.load_relaxed();
  if (has_to_measure(p, number)) measure_switch(p, m, number);
}

[[gnu::noinline]] void look_at_leave(processor* p, goroutine* leaving, departure how) noexcept {
  if (p->trace != nullptr) trace_leave(p, leaving, how);
  const std::uint64_t number = p->figures.switches.load_relaxed() + 1;
  if (has_to_measure(p, number)) measure_leave(p, leaving, number);
}

[[gnu::noinline]] void look_at_spawn(processor* p, goroutine* started) noexcept {
  sched_meter& meter = p->meter;
  if (p->trace != nullptr) trace_spawn(p, started);
  if (const std::uint64_t number = p->figures.spawned.load_relaxed();
      number >= meter.next_measured_spawn) {
    meter.next_measured_spawn = number + draw_distance(meter);
    mark(started, platform::now_ns());
  }
  meter.next_spawned = p->trace != nullptr ? 0 : meter.next_measured_spawn;
}

[[gnu::noinline]] void begin_measured_wait(goroutine* g) noexcept {
  g->runnable_since = stamp_of(platform::now_ns());
}

[[gnu::noinline]] void end_measured_wait(processor* p, goroutine* g) noexcept {
  g->needs.and_acq_rel(static_cast<std::uint8_t>(~timed), "TR-1");
  if (p == nullptr) return;
  const std::uint32_t waited = stamp_of(platform::now_ns()) - g->runnable_since;
  p->meter.waits.add(static_cast<std::int64_t>(waited) << stamp_shift);
}

void end_measured_run(processor* p) noexcept {
  end_run(p->meter, platform::now_ns());
  look_next_at(p, p->meter.next_measured);
}

void leave_without_p(machine* m, goroutine* g) noexcept {
  if (m->random.below(debug_options().sched_sample) == 0) mark(g, platform::now_ns());
}

}  // namespace sley::rt
