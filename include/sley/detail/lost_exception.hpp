// Exceptions that nothing can ask for any more.
#pragma once

#include <sley/detail/config.hpp>

#include <cstdint>
#include <exception>

namespace sley::detail {

// One line of the library's log: the exception, the goroutine that it has left (0: a thread, or not
// known), and the reason for the loss.
SLEY_API void report_lost(const std::exception_ptr& error, std::uint64_t goroutine,
                          const char* because) noexcept;

}  // namespace sley::detail
