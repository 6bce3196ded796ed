// The dump of all goroutines that a fatal error and SIGQUIT print, in Go's layout:
//
//   goroutine 7 [chan receive, locked to thread]:
//   function(...)
//           /path/to/file.cpp:12 +0x34
//   created by other_function in goroutine 1
//           /path/to/file.cpp:34 +0x56
#pragma once

#include <sley/sley.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sley_test {

struct shown_goroutine {
  int id = 0;
  std::string header;
  std::string state;               // what stands in the brackets
  std::vector<std::string> lines;  // below the header

  bool mentions(std::string_view text) const;
};

std::vector<shown_goroutine> goroutines_in(const std::string& dump);

// The one whose header has the text; expects that there is one.
const shown_goroutine& find(const std::vector<shown_goroutine>& shown, std::string_view text);

// Expects a frame of the function among the lines, with its place in the file.
void expect_frame(const shown_goroutine& g, const std::string& function,
                  const std::string& file = "dump.cpp");

// --- goroutines to show ---

// Keeps a call from being the last thing of its function, which then would not be on the stack.
inline void not_a_tail_call() { asm volatile("" ::: "memory"); }

void parks_here(const sley::chan<int>& c);
// Starts a goroutine and returns once it is parked in parks_here.
void starts_one_here(const sley::go_options& options, const sley::chan<int>& c);

// Works all the time, most of it in malloc.
[[noreturn]] void allocate_for_ever();

}  // namespace sley_test
