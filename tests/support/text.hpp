// Patterns in text: the extended regular expressions of POSIX. No `.` and no `[^x]` matches a
// newline; ^ and $ match at the ends of each line; within brackets a backslash is one. (Each file
// that compiles a std::regex takes the compiler four seconds more.)
//
// A pattern that is none fails the test and matches nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sley_test {

// Whether the pattern matches the whole text, or some part of it.
bool matches(const std::string& text, const std::string& pattern);
bool contains_match(const std::string& text, const std::string& pattern);

// The first match in the text, and what its groups have matched, from 1 on. Empty without a match.
std::vector<std::string> groups_of(const std::string& text, const std::string& pattern);

// Whether the lines are valid UTF-8 without other control characters.
bool is_utf8(std::string_view text);

}  // namespace sley_test
