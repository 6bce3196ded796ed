#pragma once

// Registers that a function saves before it uses them, as a list of clobbers.
#define SLEY_TEST_SAVED_REGISTERS "rbx", "r12", "r13", "r14", "r15"
