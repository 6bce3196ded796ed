// The C++ exception state that belongs to a goroutine, not to its thread: the chain of exceptions
// being handled and the number in flight (__cxa_eh_globals of the Itanium C++ ABI). Swapped at
// every switch, so that a goroutine may park in a catch block or in a destructor during unwinding
// and go on elsewhere.
#pragma once

#include <cstdint>

namespace sley::platform {

struct exception_state {
  void* caught = nullptr;
  std::uint64_t uncaught = 0;  // an unsigned int and its padding
};

// The calling thread's own; the address stays the same for the thread's life.
exception_state* thread_exception_state() noexcept;

}  // namespace sley::platform
