#pragma once

namespace sley_test {

// Whether this program knows the lines of its source: it was compiled with debug information, and
// not stripped of it. Then a dump names them.
bool has_line_numbers();

}  // namespace sley_test
