// Names of functions take more of a stack than a goroutine has by default.
#pragma once

#include <sley/go.hpp>
#include <sley/promise.hpp>

#include <cstddef>
#include <utility>

namespace sley::debug {

// Calls f in a goroutine with a stack of 1 MiB, and waits until it has returned. Throws what f
// throws.
template <class F>
void on_large_stack(F f) {
  constexpr std::size_t bytes = 1 << 20;
  packaged_task<void()> task(std::move(f));
  future<void> end = task.get_future();
  go(go_options{.name = "sley debug", .stack_size = bytes}, std::move(task));
  end.get();
}

}  // namespace sley::debug
