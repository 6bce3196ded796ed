// A goroutine makes a system call together with others: queue/batch.hpp.
#pragma once

#include "platform/call_batch.hpp"
#include "runtime/queue/batch.hpp"

namespace sley::rt {

// The call ends as if the goroutine had made it by itself. Parks until then, if it joins a batch.
// `not_made`: it has not joined, or the kernel has refused the call. [inside]
std::int32_t call_together(const platform::batched_call& call) noexcept;

}  // namespace sley::rt
