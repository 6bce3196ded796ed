#include "debug/cpu_samples.hpp"

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "platform/unseen.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/stack_bounds.hpp"

#include <algorithm>

namespace sley::debug {

namespace {

// ---- in the signal handler ----

// The used part of the goroutine's stack that the thread is on; empty on any other stack: of a
// thread, of a signal handler, or one that the program has made. In the middle of a switch the
// machine may have another goroutine than the stack is of.
platform::own_stack stack_at(const rt::goroutine* g, std::uintptr_t stack_pointer) noexcept {
  const platform::own_stack stack = rt::stack_of(g);
  if (stack_pointer < stack.low || stack_pointer >= stack.end) return {};
  return {stack_pointer, stack.end};  // what is below may be the guard
}

// Its own thread may be in the middle of a change of the name or the labels: then the extra is a
// copy of what they were.
void take_name_and_labels(cpu_sample& s, const rt::goroutine& g) noexcept {
  const std::string_view name = g.name();
  s.name_size = std::min(name.size(), sizeof s.name_bytes);
  std::copy_n(name.data(), s.name_size, s.name_bytes);
  s.labels = g.labels();
  if (s.labels != nullptr) rt::add_reference(*s.labels);
}

void take_stack(cpu_sample& s, const void* ucontext) noexcept {
  const platform::frame_registers at = platform::registers_in(ucontext);
  const rt::machine* m = rt::this_machine();
  const rt::goroutine* g = m == nullptr ? nullptr : m->g;
  const platform::own_stack stack = stack_at(g, at.get(platform::column_sp));
  s.name_size = 0;
  s.labels = nullptr;
  if (stack.end != 0) take_name_and_labels(s, *g);
  // The search for unwind tables may not take a lock of libc here, which the thread may hold.
  const std::size_t most =
      platform::finds_own_tables_without_lock() ? cpu_sample::most_frames : std::size_t{1};
  const platform::stack_walk walk(at, stack.memory());
  s.frame_count = platform::collect_frames(walk, {s.frames, most});
}

}  // namespace

void sampled_thread::take(void* self, const void* ucontext, std::uint32_t intervals) noexcept {
  platform::taken_by_signal(self);
  platform::passes_order(self);
  const platform::unseen unseen;
  auto* t = static_cast<sampled_thread*>(self);
  // No other thread may add to the ring.
  const bool is_its_own =
      platform::sanitizer_delivers_signals || t->thread_id_ == platform::current_thread_id();
  if (!is_its_own) return;
  const std::uint64_t all = t->missed_.load_relaxed() + intervals;  // own handler's
  cpu_sample* s = t->samples_.begin();
  t->missed_.store_relaxed(s == nullptr ? all : 0);  // likewise
  if (s == nullptr) return;
  s->intervals = all;
  take_stack(*s, ucontext);
  t->samples_.publish();
}

// ---- by the profiler ----

// The first interval has a length of its own, so that threads that were started together, and
// threads that run for less than an interval, are sampled in proportion.
int sampled_thread::start(std::int64_t interval_ns) noexcept {
  platform::give_to_signal(this);
  const auto chance = platform::cycle_counter() % static_cast<std::uint64_t>(interval_ns);
  return timer_.start(thread_id_, static_cast<std::int64_t>(chance) + 1, interval_ns, this);
}

}  // namespace sley::debug
