# The C++ library that is built for must be one that sley runs on.
include("${CMAKE_CURRENT_LIST_DIR}/require.cmake")

sley_require(SLEY_HAS_LIBSTDCXX "
  #include <cstddef>
  #ifndef __GLIBCXX__
  #error
  #endif"
  "sley needs libstdc++: ${CMAKE_CXX_COMPILER} compiles with another C++ library. With libc++, \
this_goroutine::exit() can't end a goroutine, because no catch sees a forced unwind there, and \
reports can't show an exception's what(): see docs/compilers.md.")
