// An event of the mutex profile: a lock's holder unlocks it, and others have waited.
//
//   waiters.guard().acquire();
//   const unlock_event event(&waiters);    before waiters are chosen
//   ...
//   waiters.release_and_wake(chosen);
//   event.record();                        the lock may be gone by now
//
// From Go's semrelease1.
#pragma once

#include <sley/detail/wait_list.hpp>

#include "runtime/state/contention.hpp"

#include <cstdint>

namespace sley::sync {

class unlock_event {
 public:
  // With the list's lock held. Null: it is none.
  explicit unlock_event(detail::wait_list* waiters) noexcept
      : delay_ns_(waiters != nullptr && rt::mutex_profile.is_on() ? waiters->take_delay() : 0) {}
  // Without locks of the runtime. The stack is the caller's. [inside]
  void record() const noexcept {
    if (__builtin_expect(delay_ns_ != 0, 0)) rt::note_unlock(delay_ns_);
  }

 private:
  const std::int64_t delay_ns_;  // 0: it is no event
};

}  // namespace sley::sync
