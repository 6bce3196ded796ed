# The C++ library that is built for must be one that sley runs on.
include(CheckCXXSourceCompiles)

function(sley_require_libstdcxx)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # there may be nothing to link with
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <cstddef>
    #ifndef __GLIBCXX__
    #error
    #endif" SLEY_HAS_LIBSTDCXX)
  if(NOT SLEY_HAS_LIBSTDCXX)
    unset(SLEY_HAS_LIBSTDCXX CACHE)  # the next run may have another compiler's flags
    message(FATAL_ERROR
      "sley needs libstdc++: ${CMAKE_CXX_COMPILER} compiles with another C++ library. With libc++, "
      "this_goroutine::exit() can't end a goroutine, because no catch sees a forced unwind there, and "
      "reports can't show an exception's what(): see docs/compilers.md.")
  endif()
endfunction()
sley_require_libstdcxx()
