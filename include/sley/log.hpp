// Where the lines go that the library writes on its own account.
#pragma once

#include <sley/detail/config.hpp>

#include <string_view>

namespace sley {

// Gets one line, which begins with "sley: ", has no end of line, and in which everything that comes
// from others is escaped. It is valid during the call. Called in user code by the goroutine or
// thread that has something to tell, by several at once; so it may park, lock and allocate. An
// exception that leaves it ends the process.
using log_function = void (*)(std::string_view line);

// Sets the function for all lines from now on, and returns the one before. Null, as at the start:
// lines go to stderr, each by one write(2). A call of the old function may still be under way.
// Never parks; any thread, at any time. As std::set_terminate.
//
// The lines are: errors of HTTP handlers and connections, and of net::serve(), where no on_error is
// set; exceptions that were lost in futures and groups; bytes that a buffered_writer could not
// write; a trace that is not complete. Not among them, and always on stderr: fatal errors, reports
// that a program asks for (SIGQUIT, SLEYDEBUG=schedtrace), and the scheduler's own words on a
// setting that makes no sense or on a shortage of threads, stacks or membarrier(2), where no other
// code can run.
SLEY_API log_function set_log_function(log_function f) noexcept;

namespace detail {

// The line has its end. In user code.
SLEY_API void log_line(std::string_view line) noexcept;

}  // namespace detail

}  // namespace sley
