// Misuse that only builds with debug checks look for, and what ends the program then.
#pragma once

#include <sley/detail/lock_owner.hpp>

#include "base/check.hpp"

namespace sley {
class shared_mutex;
}

namespace sley::sync {

// A fatal error, except between two run()s: parked goroutines then stay where they are, and a
// program that ends destroys its static objects under them.
void destroyed_in_use(const char* message) noexcept;

// Where the caller is.
detail::call_place calling_place() noexcept;
// The caller is about to wait for a lock that it has taken at `first`: a fatal error that names
// both places.
[[noreturn]] void locked_twice(const char* message, const detail::call_place& first) noexcept;

// Which locks the calling goroutine, or foreign thread, holds shared. No other may unlock them.
void add_shared_lock(const shared_mutex* m) noexcept;
void remove_shared_lock(const shared_mutex* m) noexcept;
// If the caller holds it shared, that is a fatal error, as locked_twice().
void check_no_shared_lock(const shared_mutex* m, const char* message) noexcept;

inline void note_shared_lock(const shared_mutex* m) noexcept {
  if constexpr (base::debug_checks) add_shared_lock(m);
}
inline void forget_shared_lock(const shared_mutex* m) noexcept {
  if constexpr (base::debug_checks) remove_shared_lock(m);
}

}  // namespace sley::sync
