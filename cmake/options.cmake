# Everything that can be switched from outside. CMakePresets.json holds the combinations in use.

# A project that embeds sley gets the library and nothing else, unless it asks. BUILD_TESTING is
# CMake's own word for whether a project's tests are wanted.
set(wants_tests ${PROJECT_IS_TOP_LEVEL})
if(DEFINED BUILD_TESTING AND NOT BUILD_TESTING)
  set(wants_tests OFF)
endif()
option(SLEY_BUILD_STATIC "build libsley.a" ON)
option(SLEY_BUILD_SHARED "build libsley.so" ON)
option(SLEY_INSTALL "make `cmake --install` install sley" ${PROJECT_IS_TOP_LEVEL})
option(SLEY_TESTS "build the tests; needs GTest and Python 3" ${wants_tests})
option(SLEY_BENCH "build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SLEY_EXAMPLES "build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SLEY_TESTING "build libsley-testing (<sley/testing.hpp>), all of sley in a simulation" ${PROJECT_IS_TOP_LEVEL})
option(SLEY_MODELS "build the models of single parts, which try all interleavings, and nothing else" OFF)

set(SLEY_SANITIZE "" CACHE STRING "sanitizers for everything built here: empty, address,undefined or thread")
set_property(CACHE SLEY_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")
option(SLEY_FUZZ "build the fuzzers, with clang and libFuzzer" OFF)
set(wants_inspect ${PROJECT_IS_TOP_LEVEL})
if(SLEY_SANITIZE OR SLEY_FUZZ)
  set(wants_inspect OFF)
endif()
option(SLEY_INSPECT "build sley-inspect, which shows the goroutines of other processes" ${wants_inspect})
option(SLEY_CHAOS "perturb the schedule at every seam (defines SLEY_CHAOS=1)" OFF)
option(SLEY_CHECKS "costly internal checks (defines SLEY_DEBUG_CHECKS=1)" OFF)
option(SLEY_FP_CONTROL "switch rounding mode and exception masks with each goroutine (2 ns)" ON)
option(SLEY_UNITY "compile the files of a target a dozen at a time: a third of the CPU time" OFF)
option(SLEY_WERROR "treat warnings in sley's own code as errors" OFF)

# The compiler as it links for the machine that is built for: CMake adds these flags to its own rules
# alone.
set(SLEY_LINK_COMMAND "${CMAKE_CXX_COMPILER}")
if(CMAKE_CXX_COMPILER_TARGET)
  list(APPEND SLEY_LINK_COMMAND "${CMAKE_CXX_COMPILE_OPTIONS_TARGET}${CMAKE_CXX_COMPILER_TARGET}")
endif()
if(CMAKE_CXX_COMPILER_EXTERNAL_TOOLCHAIN)
  list(APPEND SLEY_LINK_COMMAND
    "${CMAKE_CXX_COMPILE_OPTIONS_EXTERNAL_TOOLCHAIN}${CMAKE_CXX_COMPILER_EXTERNAL_TOOLCHAIN}")
endif()
if(CMAKE_SYSROOT)
  list(APPEND SLEY_LINK_COMMAND "--sysroot=${CMAKE_SYSROOT}")
endif()

# On where it can be: GCC brings libbacktrace along, and other compilers look into GCC's folders. The
# compiler says where it is, because find_library() looks into the root of a cross build alone, where
# GCC's folders are not.
if(NOT DEFINED SLEY_BACKTRACE_LIBRARY)
  execute_process(COMMAND ${SLEY_LINK_COMMAND} -print-file-name=libbacktrace.a
    OUTPUT_VARIABLE backtrace_library OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT IS_ABSOLUTE "${backtrace_library}" OR NOT EXISTS "${backtrace_library}")
    find_library(backtrace_library_found NAMES libbacktrace.a)
    set(backtrace_library "${backtrace_library_found}")
  endif()
  set(SLEY_BACKTRACE_LIBRARY "${backtrace_library}" CACHE FILEPATH "libbacktrace.a")
endif()
mark_as_advanced(SLEY_BACKTRACE_LIBRARY)
set(has_backtrace OFF)
if(SLEY_BACKTRACE_LIBRARY AND CMAKE_OBJCOPY)
  set(has_backtrace ON)
endif()
option(SLEY_BACKTRACE "source lines in dumps; libbacktrace becomes part of sley" ${has_backtrace})
if(SLEY_BACKTRACE AND NOT has_backtrace)
  message(FATAL_ERROR "sley: SLEY_BACKTRACE needs libbacktrace.a and objcopy")
elseif(NOT has_backtrace)
  message(STATUS "sley: dumps without source lines (libbacktrace.a or objcopy is not there)")
endif()

sley_find_global(OpenSSL "OpenSSL::SSL;OpenSSL::Crypto" 3 QUIET COMPONENTS SSL Crypto)
option(SLEY_TLS "build libsley-tls (<sley/tls.hpp>), on OpenSSL 3" ${OpenSSL_FOUND})
if(SLEY_TLS AND NOT OpenSSL_FOUND)
  message(FATAL_ERROR "sley: SLEY_TLS needs OpenSSL 3 (Debian: libssl-dev)")
endif()

# sley_find_header(folder header found)   the folder that has the header; `found` is ON or OFF
function(sley_find_header folder header found)
  find_path(${folder} ${header})
  mark_as_advanced(${folder})
  set(${found} OFF PARENT_SCOPE)
  if(${folder})
    set(${found} ON PARENT_SCOPE)
  endif()
endfunction()

# Boost.Beast parses HTTP. Nothing of Boost is linked, installed or seen by users of sley.
sley_find_header(SLEY_BOOST_INCLUDE_DIR boost/beast/http/basic_parser.hpp has_boost)
option(SLEY_HTTP "build libsley-http (<sley/http.hpp>); needs the headers of Boost 1.74" ${has_boost})
if(SLEY_HTTP AND NOT has_boost)
  message(FATAL_ERROR "sley: SLEY_HTTP needs the headers of Boost 1.74 or later (Debian: libboost-dev)")
elseif(NOT SLEY_HTTP)
  message(STATUS "sley: without <sley/http.hpp> (SLEY_HTTP is off, or Boost's headers are not there)")
endif()

# For compress() and what a client undoes. Without it bodies go as they are.
sley_find_global(ZLIB ZLIB::ZLIB QUIET)
option(SLEY_GZIP "gzip in <sley/http.hpp>, by zlib" ${ZLIB_FOUND})
if(SLEY_GZIP AND NOT ZLIB_FOUND)
  message(FATAL_ERROR "sley: SLEY_GZIP needs zlib (Debian: zlib1g-dev)")
endif()

# A few instructions for each stack that is made, and nothing that is linked.
sley_find_header(SLEY_VALGRIND_INCLUDE_DIR valgrind/valgrind.h has_valgrind)
option(SLEY_VALGRIND "tell Valgrind, if the program runs under it, which stacks there are" ${has_valgrind})
if(SLEY_VALGRIND AND NOT has_valgrind)
  message(FATAL_ERROR "sley: SLEY_VALGRIND needs valgrind/valgrind.h (Debian: valgrind)")
endif()

# One instruction that does nothing at each probe.
sley_find_header(SLEY_SDT_INCLUDE_DIR sys/sdt.h has_sdt)
option(SLEY_PROBES "probes for bpftrace, perf and the like (USDT)" ${has_sdt})
if(SLEY_PROBES AND NOT has_sdt)
  message(FATAL_ERROR "sley: SLEY_PROBES needs sys/sdt.h (Debian: systemtap-sdt-dev)")
endif()

set(SLEY_TEST_PREFIX "" CACHE STRING
  "put before every test's name, so that tests of several build trees can be told apart in one run")
mark_as_advanced(SLEY_TEST_PREFIX)

# The libraries of several configurations lie beside each other where they are installed.
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(SLEY_INSTALL AND is_multi_config AND NOT DEFINED CMAKE_DEBUG_POSTFIX)
  set(CMAKE_DEBUG_POSTFIX d)
endif()

if(NOT SLEY_BUILD_STATIC AND NOT SLEY_BUILD_SHARED)
  message(FATAL_ERROR "sley: SLEY_BUILD_STATIC and SLEY_BUILD_SHARED are both off")
endif()

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "type of build" FORCE)
  endif()
endif()
