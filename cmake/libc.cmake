# The C library that is built for must be one that sley runs on.
include(CheckCXXSourceCompiles)

function(sley_require_glibc)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # there may be nothing to link with
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <features.h>
    #if !defined(__GLIBC__) || defined(__UCLIBC__) || __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
    #error
    #endif" SLEY_HAS_GLIBC)
  if(NOT SLEY_HAS_GLIBC)
    unset(SLEY_HAS_GLIBC CACHE)  # the next run may have another compiler's flags
    message(FATAL_ERROR
      "sley needs glibc 2.34 or newer: the <features.h> of ${CMAKE_CXX_COMPILER} is of an older one or of "
      "another C library. With musl, sley can't read the stack of a goroutine that a signal has stopped, "
      "because musl has no unwind information for the return from a signal handler; and no test has run "
      "with it.")
  endif()
endfunction()
sley_require_glibc()
