// Checks of invariants. SLEY_CHECK is always on and is for hand-overs (status, owner, membership).
// SLEY_DCHECK is for costly checks and is on in builds with SLEY_DEBUG_CHECKS. A failed check
// prints the invariant and its place, and aborts.
#pragma once

#include <string_view>

namespace sley::base {

// Ends the process at once, without destructors or anything that was registered for the end.
[[noreturn]] void end_process(int status) noexcept;

// Prints "fatal error: ...", between the hooks, if they are set, and ends the process with status
// 2, as Go does.
[[noreturn]] void fatal(std::string_view what) noexcept;

// `begin` returns if the caller must end the process; no other thread does. `end` prints the
// goroutines. Both are set once, at boot, and called in any state, on any thread, perhaps in a
// signal handler, and perhaps again while they run.
using fatal_hook = void (*)() noexcept;
void set_fatal_hooks(fatal_hook begin, fatal_hook end) noexcept;

// A failed check: the same, but it ends by abort(3), because a bug must be debugged.
[[noreturn]] void check_failed(const char* what, const char* file, int line) noexcept;

#ifdef SLEY_DEBUG_CHECKS
inline constexpr bool debug_checks = true;
#else
inline constexpr bool debug_checks = false;
#endif

}  // namespace sley::base

#define SLEY_CHECK(condition, what)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::sley::base::check_failed(what, __FILE__, __LINE__))

#define SLEY_DCHECK(condition, what)                                                \
  (!::sley::base::debug_checks || __builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                                                       \
       : ::sley::base::check_failed(what, __FILE__, __LINE__))
