# Compiler and linker flags. Three kinds:
#   directory-wide    sanitizers, because every object of a program must agree on them
#   sley_own_code()   warnings, for all code of this repository
#   src/CMakeLists.txt  what only the library needs

# A newer one may be asked for.
if(NOT "${CMAKE_CXX_STANDARD}" MATCHES "^2[0-9]$")
  set(CMAKE_CXX_STANDARD 20)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Environment of every test, as NAME=VALUE. A report must fail the test, not only be printed.
set(SLEY_TEST_ENVIRONMENT "")

if(SLEY_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SLEY_SANITIZE};-fno-sanitize-recover=all>")
  add_link_options("-fsanitize=${SLEY_SANITIZE}")
  if(SLEY_SANITIZE MATCHES "thread")
    # GCC says that its sanitizer ignores fences. Ours are for systems without membarrier(2).
    add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>")
    # By default each process sleeps for a second at its end, in case other threads race with that.
    list(APPEND SLEY_TEST_ENVIRONMENT
      "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=50:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
  endif()
  if(SLEY_SANITIZE MATCHES "address")
    # Otherwise the leak checker does not find the locals of goroutines that wait (docs/debugging.md).
    set(asan_options "detect_stack_use_after_return=0")
    if(CMAKE_CROSSCOMPILING)
      string(APPEND asan_options ":detect_leaks=0")  # the emulator has no ptrace
    endif()
    list(APPEND SLEY_TEST_ENVIRONMENT "ASAN_OPTIONS=${asan_options}")
  endif()
  if(SLEY_SANITIZE MATCHES "undefined")
    list(APPEND SLEY_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
endif()

if(SLEY_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# The warnings are for sley's own developers. A project that embeds sley should not see them.
#
# Frame pointers: the internal checks note at each lock where it was called from, which is cheap with
# them. Otherwise the compiler's default, because they cost up to 8 % of a switch
# (docs/performance.md).
function(sley_own_code target)
  if(SLEY_CHECKS)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Wold-style-cast>
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
    # GCC 12 sees overlapping copies in every `"text" + std::string` (its bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
    endif()
  endif()
  if(SLEY_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
endfunction()
