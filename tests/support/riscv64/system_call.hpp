// A system call in the registers of a signal's context, on riscv64.
#pragma once

#include "support/scripted_calls.hpp"

#include <ucontext.h>

namespace sley_test {

inline system_call call_in(const ucontext_t& context) {
  const auto& x = context.uc_mcontext.__gregs;
  constexpr int a0 = REG_A0;
  return {static_cast<long>(x[a0 + 7]),
          {x[a0], x[a0 + 1], x[a0 + 2], x[a0 + 3], x[a0 + 4], x[a0 + 5]}};
}

inline void give_result(ucontext_t& context, long result) {
  context.uc_mcontext.__gregs[REG_A0] = static_cast<unsigned long>(result);
}

}  // namespace sley_test
