// Misuse that only builds with debug checks look for, and what ends the program then.
#pragma once

#include "base/check.hpp"

namespace sley {
class shared_mutex;
}

namespace sley::sync {

// A fatal error, but between two run()s: goroutines that are parked stay where they are then, and a
// program that ends destroys its static objects under them.
void destroyed_in_use(const char* message) noexcept;

// Which locks the calling goroutine, or foreign thread, holds shared. Nobody else may unlock them.
void add_shared_lock(const shared_mutex* m) noexcept;
void remove_shared_lock(const shared_mutex* m) noexcept;

inline void note_shared_lock(const shared_mutex* m) noexcept {
  if constexpr (base::debug_checks) add_shared_lock(m);
}
inline void forget_shared_lock(const shared_mutex* m) noexcept {
  if constexpr (base::debug_checks) remove_shared_lock(m);
}

}  // namespace sley::sync
