// The header before a C++ exception in memory.
#pragma once

#include <unwind.h>

#include <cstddef>

namespace sley::rt {

// As the Itanium C++ ABI (2.2.1) and libstdc++ have it. In an exception that std::rethrow_exception
// made, the first word names the object instead.
struct exception_header {
  void* first_word;
  void* not_ours[7];
  void* landing_pad;  // where the search has found a handler; null: std::terminate()
  void* also_not_ours;
  _Unwind_Exception unwind;
};
static_assert(sizeof(exception_header) == 112 && offsetof(exception_header, landing_pad) == 64 &&
              offsetof(exception_header, unwind) == 80);

inline exception_header* header_of(_Unwind_Exception* exception) noexcept {
  return reinterpret_cast<exception_header*>(reinterpret_cast<char*>(exception) -
                                             offsetof(exception_header, unwind));
}

}  // namespace sley::rt
