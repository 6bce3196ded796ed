// How often something may happen.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/mutex.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstdint>
#include <system_error>

namespace sley {

// A bucket of tokens: full with `burst` of them at first, it gets `per_second` of them a second,
// evenly, until it is full again. Each event takes tokens, and a caller that comes early waits for
// them, in order. Any thread. It may be destroyed when no call is under way. From Go's
// golang.org/x/time/rate.
class SLEY_API rate_limiter {
 public:
  // Of the clock by which tokens come.
  using time_point = std::chrono::steady_clock::time_point;

  // std::logic_error unless per_second >= 0 and burst >= 0.
  rate_limiter(double per_second, std::int64_t burst);
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;

  // All of these: std::logic_error if n is negative.

  // Takes n tokens, if there are n now. Never waits for them.
  bool allow(std::int64_t n = 1);

  // Takes n tokens that may be yet to come, and waits until they have: parks a goroutine, blocks a
  // foreign thread. std::logic_error if the bucket never holds n.
  void wait(std::int64_t n = 1);
  // Given up when the context ends, with its error; the tokens are given back then, as far as
  // others have not counted on them. The first form throws std::system_error.
  void wait(const context& ctx, std::int64_t n = 1);
  void wait(const context& ctx, std::int64_t n, std::error_code& error);
  // The same if that is no later than the deadline; else returns false at once, and takes none.
  bool try_wait_until(instant deadline, std::int64_t n = 1);

  // Tokens that were taken in advance.
  class reservation {
   public:
    // Whether there are any: not if the bucket never holds that many.
    bool ok() const noexcept { return limiter_ != nullptr; }
    // When they are there, and what they were taken for may happen.
    time_point time() const noexcept { return time_; }
    // The event will not happen: gives back the tokens that others have not counted on. Once only.
    void cancel();

   private:
    friend rate_limiter;
    rate_limiter* limiter_ = nullptr;
    std::int64_t tokens_ = 0;
    time_point time_{};
  };
  // Never waits.
  reservation reserve(std::int64_t n = 1);

 private:
  reservation take(std::int64_t n, time_point deadline);
  void give_back(std::int64_t n, time_point time);
  void fill(time_point now) noexcept;
  time_point when_filled(time_point now) const noexcept;

  const double per_second_;
  const std::int64_t burst_;
  mutex mutex_;
  double tokens_;          // [lock: mutex_] at the time of last_; negative: taken in advance
  time_point last_;        // [lock: mutex_]
  time_point last_event_;  // [lock: mutex_] the latest time of a reservation
};

}  // namespace sley
