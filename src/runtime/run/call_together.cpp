#include "runtime/run/call_together.hpp"

#include "runtime/run/park.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

namespace {

void join_parked(goroutine* g, void* arg) noexcept {
  auto* call = static_cast<joined_call*>(arg);
  call->g = g;
  join(current_machine()->p, *call);
}

}  // namespace

std::int32_t call_together(const platform::batched_call& call) noexcept {
  joined_call self{.g = nullptr, .call = call, .result = platform::not_made};
  if (may_join(current_machine())) park(wait::io, nullptr, &join_parked, &self);
  return self.result;
}

}  // namespace sley::rt
