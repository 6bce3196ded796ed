// The threads of the simulation and the switches between them.
#include "base/check.hpp"
#include "platform/current.hpp"
#include "platform/os.hpp"
#include "platform/poller_wait.hpp"
#include "platform/simulated/director.hpp"
#include "platform/simulated/simulation.hpp"
#include "platform/simulated/thread.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <span>

namespace sley::platform::simulated {

namespace {

constexpr std::size_t most_threads = 1024;
constexpr std::size_t stack_bytes = std::size_t{512} * 1024;
// Later than any reading of the real clock that the process may have made before.
constexpr std::int64_t first_ns = 1'000'000'000'000'000'000;
// Events from outside of the simulation, as of another process, may take this long.
constexpr int patience_ms = 10'000;
constexpr std::uint32_t longest_run = 500;
constexpr std::uint32_t patient_yields = 1000;  // more than spinning for a lock takes

thread threads[most_threads];
std::size_t made = 1;  // [0] is the process's own
thread* running = threads;
thread* left = nullptr;  // the thread that the last switch left
std::int64_t clock_ns = first_ns;
pollfd awaited[most_awaited];
std::size_t awaited_count = 0;
bool is_any_watched = false;
bool is_broken = false;
bool (*on_interrupt)() noexcept = nullptr;

std::span<thread> all() noexcept { return {threads, made}; }

// Asks the kernel only if there can be events, because the question costs more than a step.
bool has_events(int wait_ms) noexcept {
  if (!is_any_watched && !is_broken) return false;
  pollfd looked_at[most_awaited];
  std::ranges::copy(awaited, looked_at);
  return ::poll(looked_at, awaited_count, wait_ms) > 0;
}

void wake_pollers() noexcept {
  for (thread& t : all()) {
    if (t.state == state::polling) t.state = state::runnable;
  }
}

bool is_any_polling() noexcept {
  return std::ranges::any_of(all(), [](const thread& t) { return t.state == state::polling; });
}

// Makes a thread runnable if its time has come or events for it are there.
void look_around() noexcept {
  for (thread& t : all()) {
    const bool sleeps = t.state == state::asleep || t.state == state::polling;
    if (sleeps && t.wake_at_ns <= clock_ns) t.state = state::runnable;
  }
  if (is_any_polling() && has_events(0)) wake_pollers();
}

// Moves the clock to the wake-up time of the next sleeper. False if there is none.
bool jump() noexcept {
  std::int64_t next_ns = INT64_MAX;
  for (const thread& t : all()) {
    const bool sleeps = t.state == state::asleep || t.state == state::polling;
    if (sleeps) next_ns = std::min(next_ns, t.wake_at_ns);
  }
  if (next_ns == INT64_MAX) return false;
  clock_ns = std::max(clock_ns, next_ns);
  return true;
}

// No thread can run. Returns when one can.
void wait_for_any_thread() noexcept {
  if (jump()) return;
  if (is_any_polling() && has_events(patience_ms)) return;
  give_up(ending::all_asleep, "simulation: all threads are asleep");
}

// The threads that can run, the running thread first.
std::span<thread*> runnable() noexcept {
  static thread* found[most_threads];
  look_around();
  std::size_t n = 0;
  if (running->state == state::runnable) found[n++] = running;
  for (thread& t : all()) {
    if (&t != running && t.state == state::runnable) found[n++] = &t;
  }
  return {found, n};
}

// Another thread runs; returns when it is this thread's turn again. The thread's thread-local
// variables are saved and restored.
[[gnu::noinline]] void switch_to(thread& to) noexcept {
  thread& from = *running;
  from.left_at = note_switch(to.id, clock_ns);
  from.current_machine = platform::current_machine();
  from.calling_machine = platform::calling_machine();
  exception_state* exceptions = thread_exception_state();
  from.exceptions = *exceptions;
  from.error_number = errno;
  left = &from;
  running = &to;
  to.run_length = 0;
  platform::set_current_machine(to.current_machine);
  platform::set_calling_machine(to.calling_machine);
  *exceptions = to.exceptions;
  errno = to.error_number;
  before_thread_switch(from.fiber, to.fiber);
  switch_context(from.context, to.context);
  after_thread_switch(from.fiber, left->fiber);
}

void run_interrupts(thread& me) noexcept {
  while (me.is_interrupted) {
    me.is_interrupted = false;
    const int saved = errno;
    on_interrupt();
    errno = saved;
  }
}

// The director may let another thread go on.
void let_others(why reason) noexcept {
  thread& me = *running;
  const std::span<thread*> who = runnable();
  // Only sleeping threads are left to wait for.
  if (who.size() == 1 && reason == why::yields && ++me.lonely_yields % patient_yields == 0) jump();
  thread* next = who.size() == 1 ? &me : pick(who, reason);
  if (next != &me) switch_to(*next);
  run_interrupts(me);
}

SLEY_BOTTOM_FRAME void thread_main() {
  after_thread_switch(running->fiber, left->fiber);
  thread& me = *running;
  run_interrupts(me);
  me.entry(me.arg);
  me.state = state::ended;
  for (;;) sleep_as(state::ended, nullptr, INT64_MAX);
}

}  // namespace

thread& self() noexcept { return *running; }
std::int64_t now_ns() noexcept { return clock_ns; }
void note_awaited(std::span<const pollfd> descriptors) noexcept {
  std::ranges::copy(descriptors, awaited);
  awaited_count = descriptors.size();
}
void note_waited() noexcept { is_broken = false; }
void set_interrupt_hook(bool (*hook)() noexcept) noexcept { on_interrupt = hook; }
extent stack_of_this_thread() noexcept {
  return {running->stack, running->stack == nullptr ? 0 : stack_bytes};
}

void sleep_as(simulated::state how, const std::uint32_t* word, std::int64_t wake_at_ns) noexcept {
  thread& me = *running;
  me.state = how;
  me.word = word;
  me.wake_at_ns = wake_at_ns;
  note_sleep();
  std::span<thread*> who = runnable();
  while (who.empty()) {
    wait_for_any_thread();
    who = runnable();
  }
  thread* next = who.size() == 1 ? who.front() : pick(who, why::sleeps);
  if (next != &me) switch_to(*next);
  me.word = nullptr;
  run_interrupts(me);
}

void wake(const std::uint32_t* word, int count) noexcept {
  for (; count > 0; --count) {
    thread* found[most_threads];
    std::uint32_t n = 0;
    for (thread& t : all()) {
      if (t.state == state::asleep && t.word == word) found[n++] = &t;
    }
    if (n == 0) return;
    found[n == 1 ? 0 : draw_below(n)]->state = state::runnable;
  }
}

void yield() noexcept { let_others(why::yields); }

void pass_point() noexcept {
  thread& me = *running;
  note_step(me.steps, clock_ns);
  if (!is_pause_due(me)) return;
  if (is_jump_due()) jump();
  // The thread may wait for others by looking again and again.
  let_others(++me.run_length < longest_run ? why::passes : why::yields);
  me.is_at_point = false;
}

thread* create(void (*entry)(void*), void* arg) noexcept {
  thread* t = std::find_if(threads, threads + made,
                           [](const thread& other) { return other.state == state::ended; });
  if (t == threads + made) {
    if (made == most_threads) return nullptr;
    ++made;
  }
  if (t->stack == nullptr) t->stack = map_memory(stack_bytes, true);
  if (t->stack == nullptr) return nullptr;
  void* stack = t->stack;
  const fiber_state fiber = t->fiber;
  *t = thread{};
  t->id = new_thread_id();
  t->stack = stack;
  t->fiber = fiber;
  t->priority = new_priority();
  t->left_at = step();
  t->entry = entry;
  t->arg = arg;
  reset_stack_memory(stack, stack_bytes);
  create_fiber(t->fiber, stack, stack_bytes);
  t->context = make_context(static_cast<char*>(stack) + stack_bytes, &thread_main);
  return t;
}

thread* find(std::int32_t id) noexcept {
  thread* t = std::find_if(threads, threads + made, [id](const thread& other) {
    return other.id == id && other.state != state::ended;
  });
  return t == threads + made ? nullptr : t;
}

std::uint32_t count() noexcept {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(all(), [](const thread& t) { return t.state != state::ended; }));
}

}  // namespace sley::platform::simulated

namespace sley::platform {

void note_watched() noexcept { simulated::is_any_watched = true; }
void note_break() noexcept { simulated::is_broken = true; }

}  // namespace sley::platform
