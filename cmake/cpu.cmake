# The CPU that is built for, which has a folder of its own: headers that the rest of the library
# includes as "cpu/...", assembly, and flags.
#
#   SLEY_CPU               the folder's name
#   SLEY_SOURCE_FOLDERS    where the library's own includes are looked for
#   SLEY_CPU_FLAGS         of the library's C++ code
#   SLEY_PROBE_FLAG        of all code that runs on goroutines: a large frame touches each of its
#                          pages; empty where the compiler can't do that

set(SLEY_CPU_X86_64 "x86_64|AMD64|amd64")
set(SLEY_CPU_AARCH64 "aarch64|arm64")
set(SLEY_CPU_RISCV64 "riscv64")

set(SLEY_CPU "")
foreach(cpu IN ITEMS X86_64 AARCH64 RISCV64)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(${SLEY_CPU_${cpu}})$")
    string(TOLOWER "${cpu}" SLEY_CPU)
  endif()
endforeach()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT SLEY_CPU)
  message(FATAL_ERROR
    "sley runs on Linux on x86-64, aarch64 and riscv64, not on ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}")
endif()

set(SLEY_SOURCE_FOLDERS
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/platform/${SLEY_CPU}")
set(SLEY_PROBE_FLAG -fstack-clash-protection)
include("${PROJECT_SOURCE_DIR}/src/platform/${SLEY_CPU}/flags.cmake")

# sley_leave_out_other_cpus(variable)   of the sources in that variable
function(sley_leave_out_other_cpus variable)
  set(kept ${${variable}})
  file(GLOB folders "${sley_SOURCE_DIR}/src/platform/*/cpu")
  foreach(folder IN LISTS folders)
    cmake_path(GET folder PARENT_PATH folder)
    cmake_path(GET folder FILENAME cpu)
    if(NOT cpu STREQUAL SLEY_CPU)
      list(FILTER kept EXCLUDE REGEX "/platform/${cpu}/")
    endif()
  endforeach()
  set(${variable} "${kept}" PARENT_SCOPE)
endfunction()
