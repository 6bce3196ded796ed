// Settings from the environment, read at boot. A value that is not a sane number is one clear line
// on stderr, and the default. None are read in a program that runs with others' rights (AT_SECURE).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::rt {

// SLEY_MAXPROCS, 1 to 256; default: the CPUs that the process may use.
std::uint32_t procs_option() noexcept;

// SLEY_STACK_SIZE, bytes or with a suffix K, M or G, rounded up to pages; default: 256 KiB.
std::size_t stack_bytes_option() noexcept;

}  // namespace sley::rt
