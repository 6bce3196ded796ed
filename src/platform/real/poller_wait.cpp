#include "platform/poller_wait.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"
#include "platform/poll_any.hpp"
#include "platform/sanitizer.hpp"
#include "platform/timespec.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace sley::platform {

namespace {

constexpr std::int64_t pause_after_error_ns = 1'000'000;
// The kernel takes a thousandth of a wait as its slack: 0.1 ms here, more than a thread's own.
constexpr std::int64_t inexact_from_ns = 100'000'000;

}  // namespace

void wait_for_any(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept {
  timespec delay;
  const timespec* timeout = nullptr;
  std::optional<exact_timers> exact;
  if (deadline_ns != INT64_MAX) {
    const std::int64_t left_ns = std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0);
    if (left_ns > 0 && left_ns < inexact_from_ns) exact.emplace();
    delay = to_timespec(left_ns);
    timeout = &delay;
  }
  begin_sleep();
  const int count = poll_any(descriptors, timeout);
  const int error = count < 0 ? errno : 0;
  end_sleep();
  if (error == ENOSYS || error == EPERM) {
    base::fatal("sley: ppoll(2) is refused: a sandbox must allow it");
  }
  // An error that may not pass by itself must not come back at once, again and again.
  if (error != 0 && error != EINTR) sleep_ns(pause_after_error_ns);
  const auto is_closed = [](const pollfd& d) { return (d.revents & POLLNVAL) != 0; };
  if (std::ranges::any_of(descriptors, is_closed)) {
    base::fatal("sley: the program has closed a descriptor of the library's, which waits for it");
  }
}

}  // namespace sley::platform
