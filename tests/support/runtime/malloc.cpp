// In builds with debug checks, the allocator as it is, but for one question: nothing may allocate
// while the thread is inside the runtime. malloc's lock may be held by a goroutine that was stopped
// by a signal, and it would wait for a processor that waits for the lock. Sanitizers have an
// allocator of their own.

#include "runtime/entry/enter.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#ifdef SLEY_DEBUG_CHECKS
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

namespace {

void check() noexcept {
  const sley::rt::machine* m = sley::rt::current_machine();
  if (m == nullptr || m->is_foreign || !m->border.is_inside()) return;
  static constexpr char text[] = "fatal error: malloc is called inside the runtime\n";
  static_cast<void>(!write(2, text, sizeof(text) - 1));
  std::abort();
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* place, std::size_t bytes);
void __libc_free(void* place);

void* malloc(std::size_t bytes) {
  check();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  check();
  return __libc_calloc(count, bytes);
}
void* realloc(void* place, std::size_t bytes) {
  check();
  return __libc_realloc(place, bytes);
}
void free(void* place) {
  check();
  __libc_free(place);
}
}

#endif
#endif
