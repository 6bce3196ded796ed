# Builds for aarch64 on another machine, with Debian's g++-aarch64-linux-gnu and qemu-user.
set(SLEY_TRIPLE aarch64-linux-gnu)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # GoogleTest asks for one
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
# `max` has all that the emulator knows. Its return addresses are signed in a way that is fast to
# emulate; the usual one takes most of a program's time.
set(SLEY_EMULATED_CPU max,pauth-impdef=on CACHE STRING "the CPU that qemu-aarch64 is")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu ${SLEY_EMULATED_CPU} -L /usr/aarch64-linux-gnu)
