// A goroutine sleeps: a timer on its own stack, armed once it is parked. From Go's time.Sleep.
#include <sley/detail/deadline.hpp>

#include "platform/decisions.hpp"
#include "runtime/enter.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timer.hpp"

#include <new>

namespace sley::rt {

namespace {

struct sleeper : timer {
  goroutine* g = nullptr;
  std::int64_t until_ns = 0;
  bool no_memory = false;
};

goroutine* wake_sleeper(timer* t, std::int64_t) noexcept { return static_cast<sleeper*>(t)->g; }

// Nobody else knows the timer before this, so the goroutine is parked when it fires.
void arm(goroutine* g, void* arg) noexcept {
  auto* s = static_cast<sleeper*>(arg);
  if (add_timer(s, s->until_ns)) return;
  s->no_memory = true;
  ready(g);
}

}  // namespace

void sleep_until(std::int64_t until_ns) {
  machine* m = enter();
  if (m->is_foreign) {
    leave(m);
    platform::sleep_until_ns(until_ns);
    return;
  }
  sleeper s;
  s.is_only_popped = true;
  s.fire = &wake_sleeper;
  s.g = m->g;
  s.until_ns = until_ns;
  park(wait::sleep, &arm, &s);
  leave();
  if (s.no_memory) throw std::bad_alloc();
}

}  // namespace sley::rt

namespace sley::detail {

std::int64_t deadline_after(std::int64_t delay_ns) noexcept {
  const std::int64_t now = platform::now_ns();
  if (delay_ns <= 0) return now;
  std::int64_t deadline;
  return __builtin_add_overflow(now, delay_ns, &deadline) ? no_deadline : deadline;
}

}  // namespace sley::detail
