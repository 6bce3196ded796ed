// What a program notes in its traces.
#include "runtime/entry/tracer.hpp"
#include "runtime/state/sched_state.hpp"

#include <sley/debug.hpp>
#include <sley/detail/atomic.hpp>

namespace sley::debug::trace {

namespace {

sley::detail::atomic<std::uint64_t> tasks;  // relaxed: how many there were

}  // namespace

bool is_enabled() noexcept { return rt::sched.is_traced.load_relaxed(); }

void log(std::string_view message) noexcept { rt::note_in_trace(rt::trace_kind::log, 0, message); }

task::task(std::string_view name) noexcept : id_(tasks.add_relaxed(1) + 1) {
  rt::note_in_trace(rt::trace_kind::task_begin, id_, name);
}

task::~task() { rt::note_in_trace(rt::trace_kind::task_end, id_, {}); }

void task::log(std::string_view message) const noexcept {
  rt::note_in_trace(rt::trace_kind::log, id_, message);
}

region::region(std::string_view name) noexcept {
  rt::note_in_trace(rt::trace_kind::region_begin, 0, name);
}

region::region(const task& t, std::string_view name) noexcept : task_(t.id()) {
  rt::note_in_trace(rt::trace_kind::region_begin, task_, name);
}

region::~region() { rt::note_in_trace(rt::trace_kind::region_end, task_, {}); }

}  // namespace sley::debug::trace
