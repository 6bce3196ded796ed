// What libgcc's unwinder says, to compare.
#pragma once

namespace sley_test {

// Expects that the unwinder finds the caller that libgcc's finds, from each instruction of the
// program and from many of the libraries that it has loaded. libgcc is asked for the caller of a
// frame that does not exist, whose registers point into memory that holds its own addresses alone.
void expect_steps_of_libgcc();

}  // namespace sley_test
