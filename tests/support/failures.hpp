// The exception of a call that fails.
#pragma once

#include <stdexcept>
#include <string>

namespace sley_test {

// The text of the std::runtime_error that comes out of f(); empty if nothing does.
template <class F>
std::string failure_of(F f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace sley_test
