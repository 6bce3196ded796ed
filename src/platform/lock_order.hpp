// Tells the thread sanitizer of locks, for its check of the order in which they are taken.
// Everything here is empty, and a noted_locks holds nothing, in a build without it.
//
// The sanitizer would take a lock that it is told of for an order between the lock's holders, and
// would not find faults of the lock's atomic operations any more. So it is told all this between
// "pre_signal" and "post_signal", where nothing counts as an order.
#pragma once

#include "platform/sanitizer.hpp"

namespace sley::platform {

// The locks of which the sanitizer has been told that a goroutine holds them, each once. Of more
// locks it is not told: it ends the process where a thread holds more than 64 locks, std::mutex and
// the like among them. If the main goroutine runs on the stack of a thread that holds locks, the
// sanitizer takes the two for one thread. So two full lists leave room for other locks.
class noted_locks {
 public:
  // False: there is no room, or it is there already.
  bool add([[maybe_unused]] const void* lock) noexcept {
#ifdef SLEY_TSAN
    if (count_ == most_locks || place_of(lock) != count_) return false;
    locks_[count_++] = lock;
    return true;
#else
    return false;
#endif
  }
  // False: it is not there.
  bool remove([[maybe_unused]] const void* lock) noexcept {
#ifdef SLEY_TSAN
    const int place = place_of(lock);
    if (place == count_) return false;
    locks_[place] = locks_[--count_];
    return true;
#else
    return false;
#endif
  }

#ifdef SLEY_TSAN
 private:
  static constexpr int most_locks = 24;

  int place_of(const void* lock) const noexcept {
    int i = 0;
    while (i < count_ && locks_[i] != lock) ++i;
    return i;
  }

  const void* locks_[most_locks];
  int count_ = 0;
#endif
};

struct lock_attempt {
  bool is_shared;
  bool is_ordered;  // it may wait for ever
};

#ifdef SLEY_TSAN
inline unsigned flags_of(lock_attempt a) noexcept {
  return (a.is_shared ? __tsan_mutex_read_lock : 0) | (a.is_ordered ? 0 : __tsan_mutex_try_lock);
}
#endif

// Around an attempt to take a lock. What is done in between is checked as usual.
inline void begin_to_lock([[maybe_unused]] void* lock, [[maybe_unused]] lock_attempt a) noexcept {
#ifdef SLEY_TSAN
  __tsan_mutex_pre_lock(lock, flags_of(a));
  __tsan_mutex_pre_divert(lock, 0);
#endif
}
inline void end_to_lock([[maybe_unused]] void* lock, [[maybe_unused]] lock_attempt a,
                        [[maybe_unused]] bool has_it) noexcept {
#ifdef SLEY_TSAN
  __tsan_mutex_post_divert(lock, 0);
  __tsan_mutex_pre_signal(lock, 0);
  __tsan_mutex_post_lock(lock, flags_of(a) | (has_it ? 0 : __tsan_mutex_try_lock_failed), 0);
  __tsan_mutex_post_signal(lock, 0);
#endif
}

// Before others can take it.
inline void tell_unlock([[maybe_unused]] void* lock, [[maybe_unused]] bool is_shared) noexcept {
#ifdef SLEY_TSAN
  const unsigned flags = is_shared ? __tsan_mutex_read_lock : 0;
  __tsan_mutex_pre_signal(lock, 0);
  __tsan_mutex_pre_unlock(lock, flags);
  __tsan_mutex_post_unlock(lock, flags);
  __tsan_mutex_post_signal(lock, 0);
#endif
}

// The lock is destroyed. Another one at its place has nothing to do with it.
inline void forget_lock([[maybe_unused]] void* lock) noexcept {
#ifdef SLEY_TSAN
  __tsan_mutex_destroy(lock, 0);
#endif
}

}  // namespace sley::platform
