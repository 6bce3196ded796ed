#include "platform/poller_wait.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"
#include "platform/poll_any.hpp"
#include "platform/sanitizer.hpp"
#include "platform/timespec.hpp"

#include <algorithm>
#include <cerrno>

namespace sley::platform {

namespace {

constexpr std::int64_t pause_after_error_ns = 1'000'000;

}  // namespace

void wait_for_any(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept {
  timespec delay;
  const timespec* timeout = nullptr;
  if (deadline_ns != INT64_MAX) {
    delay = to_timespec(std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0));
    timeout = &delay;
  }
  begin_sleep();
  const int count = poll_any(descriptors, timeout);
  const int error = count < 0 ? errno : 0;
  end_sleep();
  if (error == ENOSYS || error == EPERM) {
    base::fatal("sley: ppoll(2) is refused: a sandbox must allow it");
  }
  // What is not known to pass by itself must not come back at once, again and again.
  if (error != 0 && error != EINTR) sleep_ns(pause_after_error_ns);
  const auto is_closed = [](const pollfd& d) { return (d.revents & POLLNVAL) != 0; };
  if (std::ranges::any_of(descriptors, is_closed)) {
    base::fatal("sley: the program has closed a descriptor of the library's, which waits for it");
  }
}

}  // namespace sley::platform
