// Checks of invariants. SLEY_CHECK is always on and for hand-overs (status, owner, membership);
// SLEY_DCHECK is for costly ones and on in builds with SLEY_DEBUG_CHECKS. A failed check says what
// was expected where, and aborts.
#pragma once

#include <string_view>

namespace sley::base {

// Prints "fatal error: ..." and ends the process by abort(3).
[[noreturn]] void fatal(std::string_view what) noexcept;

// The same for a failed check.
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
