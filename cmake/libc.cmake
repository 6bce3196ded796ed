# The C library that is built for must be one that sley runs on.
include("${CMAKE_CURRENT_LIST_DIR}/require.cmake")

sley_require(SLEY_HAS_GLIBC "
  #include <features.h>
  #if !defined(__GLIBC__) || defined(__UCLIBC__) || __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
  #error
  #endif"
  "sley needs glibc 2.34 or newer: the <features.h> of ${CMAKE_CXX_COMPILER} is of an older one or of \
another C library. With musl, sley can't read the stack of a goroutine that a signal has stopped, \
because musl has no unwind information for the return from a signal handler; and no test has run \
with it.")
