// The limit of announced calls: goroutines wait in order for a place, and the end of a call gives
// its place to the first of them. The count is that of counting_semaphore, whose waiters are in a
// folder above.
#include "runtime/entry/call_places.hpp"

#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"

#include <cstddef>
#include <utility>

namespace sley::rt {

constinit call_places announced_calls;

void call_places::take() noexcept {
  if (free_.try_take()) return;
  enter();
  lock_.acquire();
  if (free_.take_or_mark()) {
    lock_.release();
  } else {
    call_waiter self{.g = current_machine()->g};
    waiters_.push_back(&self);
    park_and_release(wait::blocking_limit, nullptr, lock_);  // its waker gives it the place
  }
  leave();
}

void call_places::give_back() noexcept {
  if (!free_.try_give(1, detail::unit_count::no_limit)) give_back_slow();
}

[[gnu::noinline]] void call_places::give_back_slow() noexcept {
  machine* m = enter();
  lock_.acquire();
  auto chosen = serve(1);
  lock_.release();
  while (call_waiter* w = chosen.pop_front()) ready(w->g);
  leave(m);
}

int call_places::set_limit(int n) noexcept {
  machine* m = enter();
  lock_.acquire();
  const int before = std::exchange(limit_, n);
  are_limited_.store_relaxed(n != no_limit);
  auto chosen = serve(std::ptrdiff_t{n} - before);
  lock_.release();
  while (call_waiter* w = chosen.pop_front()) ready(w->g);
  leave(m);
  return before;
}

// Requires the lock. There are `more` free places, or fewer. Waiters get the free ones, and are
// returned: the caller lets the lock go, and then makes them runnable.
call_waiters call_places::serve(std::ptrdiff_t more) noexcept {
  call_waiters chosen;
  if (!waiters_.is_empty()) {
    for (std::ptrdiff_t left = free_.count() + more; left > 0 && !waiters_.is_empty(); --left) {
      chosen.push_back(waiters_.pop_front());
      --more;
    }
  }
  free_.add(more, !waiters_.is_empty(), detail::unit_count::max);
  return chosen;
}

}  // namespace sley::rt
