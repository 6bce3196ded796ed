#pragma once

// Registers that a function saves before it uses them, as a list of clobbers.
#define SLEY_TEST_SAVED_REGISTERS                                                                 \
  "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8", "d9", "d10", "d11", \
      "d12", "d13", "d14", "d15"
