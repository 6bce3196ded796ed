// Calls a function again when it fails, after pauses that grow and differ by chance.
//
//   const auto page = sley::retry({.max_tries = 4}, ctx, [&] { return fetch(url, ctx); });
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

namespace sley {

// How often retry() tries, and how long it waits in between.
struct retry_policy {
  // Calls in all, at least one. `unlimited`: until the context ends.
  static constexpr int unlimited = std::numeric_limits<int>::max();
  int max_tries = 5;
  // Each pause is `factor` times as long as the one before, which is at least 1, up to the longest.
  time_span first_pause = std::chrono::milliseconds(100);
  time_span longest_pause = std::chrono::seconds(10);
  double factor = 2;
  // The part of each pause, from 0 to 1, that chance may take away: callers that failed together do
  // not come again together. 1: anything from no pause to the whole.
  double jitter = 0.5;
  // Asked after each failure but the last. False: trying again is of no use. Empty: it always is.
  std::function<bool(const std::exception&)> may_retry = {};
};

namespace detail {

// The tries of one retry().
class SLEY_API retrying {
 public:
  retrying(const retry_policy& policy, const context& ctx);
  retrying(const retrying&) = delete;
  retrying& operator=(const retrying&) = delete;

  // The call has failed. False: there is no other try.
  bool may_go_on(const std::exception& failure);
  // Before the next try.
  void pause();

 private:
  std::int64_t next_pause_ns();
  [[noreturn]] void fail() const;

  const retry_policy& policy_;
  const context& ctx_;
  std::uint64_t failures_ = 0;
  double pause_ns_;
  std::string last_failure_;
};

}  // namespace detail

// Calls f() until it returns, and returns that. Each exception that derives from std::exception is
// a failed try, and any other passes. When the tries are used up, or `may_retry` says no, it throws
// the exception of the last try. Between tries it parks; a foreign thread blocks.
//
// If the context has ended, before the first try or before another one, it throws std::system_error
// with the context's error, whose what() has the number of tries and what the last one threw. It
// does not end a call of f: give f the context as well.
//
// std::invalid_argument, before the first try, for a policy with no tries, a factor below 1, or a
// jitter that is not from 0 to 1; the message names the member and its value. Any thread.
template <class F>
  requires std::is_invocable_v<F&>
std::invoke_result_t<F&> retry(const retry_policy& policy, const context& ctx, F&& f) {
  detail::retrying tries(policy, ctx);
  for (;;) {  // ends by a result, the last failure, or the context
    try {
      return std::invoke(f);
    } catch (const std::exception& failure) {
      if (!tries.may_go_on(failure)) throw;
    }
    tries.pause();
  }
}

}  // namespace sley
