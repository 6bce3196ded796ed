// Who holds a lock, in builds with debug checks: nobody else may unlock it. Nothing in others.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>

namespace sley::detail {

class SLEY_API noted_owner {
 public:
  // The caller has the lock from now on.
  void enter() noexcept;
  // The caller is about to unlock it. If somebody else has it, that is a fatal error with this
  // message; that nobody has it is for the lock to say.
  void leave(const char* message) noexcept;

 private:
  // Relaxed: who holds the lock has written it, and others do not find themselves there.
  atomic<const void*> who_;
};

struct unknown_owner {
  static void enter() noexcept {}
  static void leave(const char*) noexcept {}
};

#ifdef SLEY_DEBUG_CHECKS
using lock_owner = noted_owner;
#else
using lock_owner = unknown_owner;
#endif

}  // namespace sley::detail
