// The deadline of reading or writing, moved seldom.
#pragma once

#include <sley/time.hpp>

#include <chrono>

namespace sley::http::detail {

// What a connection has been told. Moving a timer costs more than it brings, so a deadline is set
// an eighth late, and one that was set earlier serves as long as it is not too early.
class late_deadline {
 public:
  // Makes it serve this time-out from now on; zero: none. Returns whether it has changed.
  [[nodiscard]] bool move(std::chrono::nanoseconds timeout) noexcept {
    const bool is_none = timeout == timeout.zero();
    if (is_none && when_ == time_point::max()) return false;
    const time_point t = std::chrono::steady_clock::now();
    const time_point latest = t + timeout + timeout / 8;
    if (!is_none && when_ >= t + timeout && when_ <= latest) return false;
    when_ = is_none ? time_point::max() : latest;
    return true;
  }
  void set(time_point when) noexcept { when_ = when; }
  time_point when() const noexcept { return when_; }

 private:
  time_point when_ = time_point::max();
};

}  // namespace sley::http::detail
