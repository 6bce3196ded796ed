// Goroutines for libraries that want an executor.
#pragma once

#include <sley/go.hpp>

#include <utility>

namespace sley {

// Where functions run: each in a goroutine of its own, so it may park. All executors are the same
// one. With <sley/asio.hpp> it meets Asio's requirements of executors.
class executor {
 public:
  // Calls f() in a goroutine. Never parks or blocks, and never calls f itself. Any thread. Errors
  // as go().
  template <class F>
  void execute(F&& f) const {
    go(std::forward<F>(f));
  }

  friend constexpr bool operator==(const executor&, const executor&) noexcept = default;
};

}  // namespace sley
