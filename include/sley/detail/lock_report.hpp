// Tells the thread sanitizer of locks, for its reports of locks that are taken in different orders.
// Nothing in builds without it.
//
// The sanitizer learns from this which locks a goroutine holds, and nothing else. It sees the
// lock's own code, and takes what the lock orders from its atomic operations. So it still finds a
// fault in these.
#pragma once

#include <sley/detail/config.hpp>

#if defined(__SANITIZE_THREAD__)
#define SLEY_REPORTS_LOCKS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLEY_REPORTS_LOCKS 1
#endif
#endif

namespace sley::detail {

enum class lock_kind : unsigned char { exclusive, shared };

// A member of the lock, whose address stands for the lock in reports.
class SLEY_API reported_lock {
 public:
  class attempt;

  constexpr reported_lock() noexcept = default;
  reported_lock(const reported_lock&) = delete;
  reported_lock& operator=(const reported_lock&) = delete;
  ~reported_lock();

  // The caller is about to give the lock back.
  void gives_back(lock_kind kind) noexcept;

 private:
  char place_ = 0;
  bool is_known_ = false;  // [the exclusive holder] the sanitizer knows of the holder
};

// Around an attempt to take the lock. An attempt that may wait for ever is part of the order;
// others are not.
class SLEY_API reported_lock::attempt {
 public:
  attempt(reported_lock& lock, lock_kind kind, bool may_wait_for_ever) noexcept;
  attempt(const attempt&) = delete;
  attempt& operator=(const attempt&) = delete;
  ~attempt();

  // Returns whether the caller has the lock.
  bool ends(bool has_it) noexcept { return has_it_ = has_it; }

 private:
  bool takes_note() noexcept;

  reported_lock& lock_;
  const lock_kind kind_;
  const bool may_wait_for_ever_;
  bool has_it_ = false;
};

struct unreported_lock {
  struct attempt {
    constexpr attempt(unreported_lock&, lock_kind, bool) noexcept {}
    static constexpr bool ends(bool has_it) noexcept { return has_it; }
  };

  static constexpr void gives_back(lock_kind) noexcept {}
};

#ifdef SLEY_REPORTS_LOCKS
using lock_report = reported_lock;
#else
using lock_report = unreported_lock;
#endif

}  // namespace sley::detail
