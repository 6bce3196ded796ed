// The limit of announced calls: goroutines wait in order for a place, and the end of a call gives
// its place to the first of them. A semaphore like counting_semaphore, which is in a folder above.
#include "runtime/entry/call_places.hpp"

#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sley::rt {

constinit call_places announced_calls;

void call_places::take() noexcept {
  if (try_take()) return;
  enter();
  lock_.acquire();
  if (take_or_mark()) {
    lock_.release();
  } else {
    call_waiter self{.g = current_machine()->g};
    waiters_.push_back(&self);
    park_and_release(wait::blocking_limit, lock_);  // its waker gives it the place
  }
  leave();
}

bool call_places::try_take() noexcept {
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  while (seen >= place) {  // ends: each failure means that another thread changed it
    if (state_.cas_acquire(seen, seen - place, "BC-1")) return true;
  }
  return false;
}

// Requires the lock. True: a place is ours. Else `awaited` is set.
bool call_places::take_or_mark() noexcept {
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {                                    // ends: as above
    if (seen >= place) {
      if (state_.cas_acquire(seen, seen - place, "BC-1")) return true;
    } else if (state_.cas_acquire(seen, seen | awaited, "BC-2")) {
      return false;
    }
  }
}

void call_places::give_back() noexcept {
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  while ((seen & awaited) == 0) {               // ends: as above
    if (state_.cas_release(seen, seen + place, "BC-1")) return;
  }
  give_back_slow();
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
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  std::ptrdiff_t free = 0, given = 0, mark = 0;
  do {  // ends: as above
    free = (seen >> 1) + more;
    given = std::clamp<std::ptrdiff_t>(free, 0, static_cast<std::ptrdiff_t>(waiters_.size()));
    mark = static_cast<std::size_t>(given) < waiters_.size() ? awaited : 0;
  } while (!state_.cas_release(seen, (free - given) * place + mark, "BC-1"));
  call_waiters chosen;
  while (given-- > 0) chosen.push_back(waiters_.pop_front());
  return chosen;
}

}  // namespace sley::rt
