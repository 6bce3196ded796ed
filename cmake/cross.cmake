# What the toolchain files have in common. SLEY_TRIPLE is the CPU's name in Debian, whose packages have
# its libraries in a folder of that name.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_FIND_ROOT_PATH "/usr/${SLEY_TRIPLE}" "${CMAKE_BINARY_DIR}/all_cpus")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Boost's headers, which are the same for all CPUs, and nothing else of this machine's headers.
if(EXISTS /usr/include/boost)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/all_cpus/include")
  file(CREATE_LINK /usr/include/boost "${CMAKE_BINARY_DIR}/all_cpus/include/boost" SYMBOLIC)
endif()
