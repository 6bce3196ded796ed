// rate_limiter: tokens are not counted as they come, but when a caller asks.
#include <sley/rate_limiter.hpp>

#include <sley/detail/deadline.hpp>
#include <sley/go.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace sley {

namespace {

using seconds = std::chrono::duration<double>;

}  // namespace

rate_limiter::rate_limiter(double per_second, std::int64_t burst)
    : per_second_(per_second), burst_(burst), tokens_(static_cast<double>(burst)) {
  if (!(per_second >= 0) || burst < 0)
    throw std::logic_error("sley::rate_limiter: the rate or the burst is negative");
  last_ = time_point::clock::now();
}

bool rate_limiter::allow(std::int64_t n) { return take(n, time_point::clock::now()).ok(); }

void rate_limiter::wait(std::int64_t n) {
  if (n > burst_)
    throw std::logic_error("sley::rate_limiter: more tokens are wanted than the burst");
  this_goroutine::sleep_until(take(n, time_point::max()).time());
}

void rate_limiter::wait(const context& ctx, std::int64_t n, std::error_code& error) {
  if (n > burst_) throw std::logic_error("sley::rate_limiter: more than the bucket holds");
  error = ctx.error();
  if (error) return;
  reservation taken = take(n, time_point::max());
  this_goroutine::sleep_until(taken.time(), ctx, error);
  if (error) taken.cancel();
}
void rate_limiter::wait(const context& ctx, std::int64_t n) {
  std::error_code error;
  wait(ctx, n, error);
  if (error) throw std::system_error(error, "sley::rate_limiter: wait");
}

bool rate_limiter::try_wait_until(instant deadline, std::int64_t n) {
  const reservation taken = take(n, deadline);
  if (taken.ok()) this_goroutine::sleep_until(taken.time());
  return taken.ok();
}

rate_limiter::reservation rate_limiter::reserve(std::int64_t n) {
  return take(n, time_point::max());
}

// Takes none if they would come after the deadline, or never.
rate_limiter::reservation rate_limiter::take(std::int64_t n, time_point deadline) {
  if (n < 0) throw std::logic_error("sley::rate_limiter: the number of tokens is negative");
  reservation taken;
  if (n > burst_) return taken;
  const std::lock_guard guard(mutex_);
  const time_point now = time_point::clock::now();
  fill(now);
  tokens_ -= static_cast<double>(n);
  taken.time_ = when_filled(now);
  if (taken.time_ > std::max(deadline, now)) {
    tokens_ += static_cast<double>(n);
    return taken;
  }
  taken.limiter_ = this;
  taken.tokens_ = n;
  last_event_ = std::max(last_event_, taken.time_);
  return taken;
}

// Requires the mutex. Time that seems to go back counts as none.
void rate_limiter::fill(time_point now) noexcept {
  if (now <= last_) return;
  tokens_ =
      std::min(static_cast<double>(burst_), tokens_ + per_second_ * seconds(now - last_).count());
  last_ = now;
}

// Requires the mutex. When the bucket, which is as of now, has no debts.
rate_limiter::time_point rate_limiter::when_filled(time_point now) const noexcept {
  if (tokens_ >= 0) return now;
  return detail::later(now, seconds(-tokens_ / per_second_));
}

void rate_limiter::reservation::cancel() {
  if (limiter_ != nullptr) std::exchange(limiter_, nullptr)->give_back(tokens_, time_);
}

// Later reservations have their times already, and count on the tokens that come until then.
void rate_limiter::give_back(std::int64_t n, time_point time) {
  const std::lock_guard guard(mutex_);
  const time_point now = time_point::clock::now();
  if (time <= now) return;
  const double relied_on = per_second_ * seconds(last_event_ - time).count();
  fill(now);
  tokens_ = std::min(static_cast<double>(burst_),
                     tokens_ + std::max(0.0, static_cast<double>(n) - relied_on));
}

}  // namespace sley
