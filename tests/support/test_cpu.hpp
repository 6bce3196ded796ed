// What tests need of the CPU: each CPU's folder has the same headers, beside the assembly that
// scripted_calls.cpp and unwind_oracle.cpp call.
#pragma once

#if defined(__x86_64__)
#include "support/x86_64/control_words.hpp"
#include "support/x86_64/saved_registers.hpp"
#include "support/x86_64/system_call.hpp"
#include "support/x86_64/traps.hpp"
#include "support/x86_64/vector_registers.hpp"
#elif defined(__aarch64__)
#include "support/aarch64/control_words.hpp"
#include "support/aarch64/saved_registers.hpp"
#include "support/aarch64/system_call.hpp"
#include "support/aarch64/traps.hpp"
#include "support/aarch64/vector_registers.hpp"
#elif defined(__riscv)
#include "support/riscv64/control_words.hpp"
#include "support/riscv64/saved_registers.hpp"
#include "support/riscv64/system_call.hpp"
#include "support/riscv64/traps.hpp"
#include "support/riscv64/vector_registers.hpp"
#endif
