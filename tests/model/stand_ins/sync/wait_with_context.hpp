// For models of locks: no context ends.
#pragma once

#include <sley/detail/deadline.hpp>

#include <system_error>

namespace sley::sync {

inline std::error_code error_of(const context&) noexcept { return {}; }

template <class Wait>
void wait_with(const context&, std::error_code&, const Wait&) {
  RL_ASSERT(false);
}

template <class Operation>
void throwing_with(const char*, const Operation&) {
  RL_ASSERT(false);
}

}  // namespace sley::sync
