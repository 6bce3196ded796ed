// A context that ends at a random point, for storms.
#pragma once

#include "support/harness.hpp"

#include <sley/context.hpp>

#include <chrono>
#include <cstdint>
#include <tuple>

namespace sley_test {

// Ends soon, after a number of yields or by the clock, or not at all.
class short_context {
 public:
  explicit short_context(random_source& random) {
    if (random.one_in(4)) return;
    if (random.one_in(2)) {
      std::tie(ctx_, cancel_) =
          sley::with_timeout({}, std::chrono::microseconds(random.below(300)));
      return;
    }
    std::tie(ctx_, cancel_) = sley::with_cancel({});
    sley::go([cancel = cancel_, yields = random.below(20)] {
      for (std::uint64_t i = 0; i < yields; ++i) sley::this_goroutine::yield();
      cancel();
    });
  }
  ~short_context() { cancel_(); }
  short_context(const short_context&) = delete;
  short_context& operator=(const short_context&) = delete;

  const sley::context& get() const noexcept { return ctx_; }

 private:
  sley::context ctx_;
  sley::cancel_function cancel_;
};

}  // namespace sley_test
