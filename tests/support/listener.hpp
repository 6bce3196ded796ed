// Watches over the tests of a program: prints how to run a failed one again, and ends the process
// when one takes too long.
#pragma once

#include <cstdint>

namespace sley_test {

// Called by main before the tests run.
void install_listener(const char* program);

// Facts that belong into the command that runs a test again.
void note_seed(std::uint64_t seed);
void note_processors(int count);

}  // namespace sley_test
