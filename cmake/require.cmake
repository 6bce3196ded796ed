# sley_require(result source message): what the compiler makes code for must be something that sley
# runs on; the source compiles if it is. `result` is a name for CMake's cache.
include(CheckCXXSourceCompiles)

function(sley_require result source message)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # there may be nothing to link with
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("${source}" ${result})
  if(NOT ${result})
    unset(${result} CACHE)  # the next run may have another compiler's flags
    message(FATAL_ERROR "${message}")
  endif()
endfunction()
