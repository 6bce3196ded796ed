// The deadline of reading or writing, moved seldom.
#pragma once

#include <sley/detail/deadline.hpp>
#include <sley/time.hpp>

namespace sley::http::detail {

// What a connection has been told. Moving a timer costs more than it brings, so a deadline is set
// an eighth late, and one that was set earlier serves as long as it is not too early.
class late_deadline {
 public:
  // Makes it serve this time-out from now on; zero: none. Returns whether it has changed.
  [[nodiscard]] bool move(time_span timeout) noexcept {
    const bool is_none = timeout == timeout.zero();
    if (is_none && when_ == time_point::max()) return false;
    const time_point earliest = is_none ? time_point::max() : sley::detail::time_in(timeout);
    const time_point latest = sley::detail::later(earliest, timeout / 8);
    if (when_ >= earliest && when_ <= latest) return false;
    when_ = latest;
    return true;
  }
  void set(time_point when) noexcept { when_ = when; }
  time_point when() const noexcept { return when_; }

 private:
  time_point when_ = time_point::max();
};

}  // namespace sley::http::detail
