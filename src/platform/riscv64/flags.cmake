# A function uses nothing below its stack pointer.
set(SLEY_CPU_FLAGS "")

# g++ before 14 calls libatomic for these, and std::atomic says that they may have a lock.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles(
  "#include <atomic>\nstatic_assert(std::atomic<bool>::is_always_lock_free); int main() {}"
  SLEY_HAS_ATOMIC_BYTES)
if(NOT SLEY_HAS_ATOMIC_BYTES)
  message(FATAL_ERROR "sley: on riscv64 a compiler with atomics of one byte is needed: clang, or g++ 14 or later")
endif()

# clang has it since version 20.
include(CheckCXXCompilerFlag)
set(CMAKE_REQUIRED_FLAGS -Werror)
check_cxx_compiler_flag(${SLEY_PROBE_FLAG} SLEY_HAS_STACK_PROBES)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT SLEY_HAS_STACK_PROBES)
  set(SLEY_PROBE_FLAG "")
endif()
