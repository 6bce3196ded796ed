// Where ptrace(2) is forbidden, goroutines can't be searched for leaks; see debug::leaks.
#pragma once

#include "support/conditions.hpp"

#include <sley/debug.hpp>

#include <system_error>

namespace sley_test {

// Under a sanitizer nothing is forbidden, because only goroutines that wait for nothing are named.
inline bool may_search_for_leaks() {
  try {
    sley::debug::leaks();
    return true;
  } catch (const std::system_error& e) {
    return e.code() != std::errc::operation_not_permitted &&
           e.code() != std::errc::permission_denied;
  }
}

}  // namespace sley_test

#define NEEDS_A_LEAK_SEARCH_OR_SANITIZER()                                                       \
  if (!sley_test::may_search_for_leaks()) GTEST_SKIP() << "no search for leaks is allowed here"; \
  static_assert(true)

#define NEEDS_A_LEAK_SEARCH()                                                              \
  if (sley_test::under_sanitizer) GTEST_SKIP() << "no search for leaks under a sanitizer"; \
  NEEDS_A_LEAK_SEARCH_OR_SANITIZER()
