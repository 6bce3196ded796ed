// A system call in the registers of a signal's context, on aarch64.
#pragma once

#include "support/scripted_calls.hpp"

#include <ucontext.h>

namespace sley_test {

inline system_call call_in(const ucontext_t& context) {
  const auto& x = context.uc_mcontext.regs;
  return {static_cast<long>(x[8]), {x[0], x[1], x[2], x[3], x[4], x[5]}};
}

inline void give_result(ucontext_t& context, long result) {
  context.uc_mcontext.regs[0] = static_cast<unsigned long>(result);
}

}  // namespace sley_test
