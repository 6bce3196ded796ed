// Servers go away and come back: calls of Redis and PostgreSQL are tried until they are answered.
#pragma once

#include "monitor.hpp"

#include <sley/context.hpp>
#include <sley/retry.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace jobs {

// The longest time for one call. A server behind a cut network is known by it.
inline constexpr std::chrono::seconds answer_limit(5);

// Whether the failure is of the kind that passes: of the connection, or a server that starts, stops
// or has no room. What a server says of a wrong statement does not pass.
bool may_pass(const std::exception& failure);

// The worker is not ready from the first failure of a call to the end of the tries.
class outage {
 public:
  explicit outage(monitor& m) : monitor_(m) {}
  outage(const outage&) = delete;
  outage& operator=(const outage&) = delete;
  ~outage();

  // Notes a failure. Returns whether trying again is of use.
  bool may_try_again(const std::exception& failure);

 private:
  monitor& monitor_;
  bool has_begun_ = false;
};

// Returns what f(in_time) returns when it does not throw. The context ends the pauses, and not the
// calls: it would not be known what a call that is cut short has done. `in_time` ends a call.
template <class F>
auto keep_trying(monitor& m, const sley::context& ctx, F&& f) {
  outage trouble(m);
  const sley::retry_policy policy{
      .max_tries = sley::retry_policy::unlimited,
      .longest_pause = std::chrono::seconds(2),
      .may_retry = [&](const std::exception& e) { return trouble.may_try_again(e); }};
  return sley::retry(policy, ctx, [&] {
    const auto [in_time, cancel] = sley::with_timeout({}, answer_limit);
    return f(in_time);
  });
}

}  // namespace jobs
