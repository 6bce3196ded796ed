// Reads a value that another thread may be writing, for figures and dumps only: the value may be
// outdated, and no decision may rest on it. The thread sanitizer does not see this read.
#pragma once

namespace sley::base {

#ifdef __clang__
#define SLEY_UNWATCHED clang::disable_sanitizer_instrumentation
#else
#define SLEY_UNWATCHED gnu::no_sanitize("thread")
#endif

template <class T>
[[gnu::noinline, SLEY_UNWATCHED]] T peek(const T& x) noexcept {
  static_assert(sizeof(T) <= sizeof(void*), "it is read by one instruction");
  return *const_cast<const volatile T*>(&x);
}

#undef SLEY_UNWATCHED

}  // namespace sley::base
