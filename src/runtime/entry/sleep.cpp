// Puts a goroutine to sleep: it becomes an element of a timer heap once it is parked. From Go's
// time.Sleep.
#include "runtime/entry/sleep.hpp"

#include <sley/detail/deadline.hpp>

#include "platform/decisions.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/timers.hpp"

#include <new>

namespace sley::rt {

namespace {

struct sleep_request {
  std::int64_t until_ns = 0;
  bool no_memory = false;
};

// No waker knows the goroutine before this, so it is parked when its time comes.
void begin_sleep(goroutine* g, void* arg) noexcept {
  auto* s = static_cast<sleep_request*>(arg);
  if (add_sleeper(g, s->until_ns)) return;
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
  sleep_request s{.until_ns = until_ns};
  park(wait::sleep, nullptr, &begin_sleep, &s);
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
