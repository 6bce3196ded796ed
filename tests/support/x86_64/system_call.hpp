// A system call in the registers of a signal's context, on x86-64.
#pragma once

#include "support/scripted_calls.hpp"

#include <ucontext.h>

namespace sley_test {

inline system_call call_in(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  const auto argument = [&](int which) { return static_cast<unsigned long>(registers[which]); };
  return {registers[REG_RAX],
          {argument(REG_RDI), argument(REG_RSI), argument(REG_RDX), argument(REG_R10),
           argument(REG_R8), argument(REG_R9)}};
}

inline void give_result(ucontext_t& context, long result) {
  context.uc_mcontext.gregs[REG_RAX] = result;
}

}  // namespace sley_test
