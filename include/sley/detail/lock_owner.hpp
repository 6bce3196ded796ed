// The holder of a lock, and where it has taken the lock, in builds with debug checks: no other
// caller may unlock it, and the holder may not wait for it. Nothing in other builds.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>

#include <cstdint>

namespace sley::detail {

// A place in the program: return addresses, innermost first, and zeros behind them.
struct call_place {
  static constexpr int most_frames = 10;
  std::uintptr_t frames[most_frames] = {};
};

class SLEY_API noted_owner {
 public:
  // The caller has the lock from now on.
  void enter() noexcept;
  // The caller is about to unlock it. If another caller has it, that is a fatal error with this
  // message. The lock itself says that it is not locked at all.
  void leave(const char* message) noexcept;
  // The caller is about to wait for the lock without a limit. If it has the lock already, that is a
  // fatal error with this message, which names both places.
  void check_not_caller(const char* message) const noexcept;
  // The id of the goroutine that has it; 0 if none has it, or a thread that is no goroutine. Any
  // thread.
  std::uint64_t goroutine() const noexcept { return goroutine_.load_relaxed(); }

 private:
  // Relaxed: the holder has written it, and other callers do not find themselves there.
  atomic<const void*> who_;
  atomic<std::uint64_t> goroutine_;  // relaxed: for dumps, which may be a moment late
  call_place where_;                 // [the holder]
};

struct unknown_owner {
  static void enter() noexcept {}
  static void leave(const char*) noexcept {}
  static void check_not_caller(const char*) noexcept {}
  static std::uint64_t goroutine() noexcept { return 0; }
};

#ifdef SLEY_DEBUG_CHECKS
using lock_owner = noted_owner;
inline constexpr bool checks_lock_owners = true;
#else
using lock_owner = unknown_owner;
inline constexpr bool checks_lock_owners = false;
#endif

}  // namespace sley::detail
