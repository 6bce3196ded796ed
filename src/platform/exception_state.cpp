#include "platform/exception_state.hpp"

#include <cxxabi.h>

namespace sley::platform {

exception_state* thread_exception_state() noexcept {
  return reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace sley::platform
