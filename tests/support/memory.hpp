// How much memory there is, how much of it this process has, and which descriptors.
#pragma once

#include <cstddef>
#include <vector>

namespace sley_test {

// The memory that the system could still give out without swapping (MemAvailable of /proc/meminfo),
// in bytes.
std::size_t available_memory();

// The resident memory of this process (VmRSS of /proc/self/status), in bytes.
std::size_t resident_memory();

// The memory that malloc has given out and not got back, in bytes; 0 where a sanitizer has its own.
std::size_t allocated_memory();

// The number of this process's open descriptors. The runtime's own is among them while it looks
// into /proc, now and then: so a later count is compared by <=, and asked for again.
int open_descriptors();

// This process's descriptors of io_uring.
std::vector<int> ring_descriptors();

// As many things of a size as wanted, or as many as fit into half of what is available; says so on
// stdout if that is fewer.
int as_many_as_fit(int wanted, std::size_t bytes_each);

}  // namespace sley_test
