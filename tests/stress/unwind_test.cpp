// Aim: in all of the library the unwinder finds what libgcc's finds. Method: libgcc is asked at
// each instruction of a program that uses every part. The unwinder's own tests: unit/platform.
#include "support/harness.hpp"
#include "support/unwind_oracle.hpp"
#include "support/use_everything.hpp"

#include <sley/debug.hpp>

TEST(unwind, each_step_in_the_library_is_libgccs) {
  sley::run([] {
    sley_test::use_everything();
    EXPECT_FALSE(sley::debug::goroutines().empty());
  });
  sley_test::expect_steps_of_libgcc();
}
