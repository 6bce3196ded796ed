#pragma once

// Registers that a function saves before it uses them, as a list of clobbers.
#define SLEY_TEST_SAVED_REGISTERS                                                                 \
  "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "fs0", "fs1", "fs2", "fs3", \
      "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11"
