#include "platform/poller_wait.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "platform/timespec.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace sley::platform {

namespace {

detail::atomic<bool> has_pwait2{true};  // relaxed: at worst it is tried once more

int wait_in_milliseconds(int poller, epoll_event* events, std::int64_t delay_ns) noexcept {
  constexpr std::int64_t ms = 1'000'000;
  const std::int64_t delay_ms = delay_ns / ms + (delay_ns % ms != 0 ? 1 : 0);
  return epoll_wait(poller, events, most_events_at_once,
                    static_cast<int>(std::min<std::int64_t>(delay_ms, INT_MAX)));
}

// Sleeps for so long, if nothing happens.
int wait_for(int poller, epoll_event* events, std::int64_t delay_ns) noexcept {
  if (has_pwait2.load_relaxed()) {
    const timespec delay = to_timespec(delay_ns);
    const long n =
        syscall(SYS_epoll_pwait2, poller, events, most_events_at_once, &delay, nullptr, 0);
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(n);
    has_pwait2.store_relaxed(false);
  }
  return wait_in_milliseconds(poller, events, delay_ns);
}

int wait_until(int poller, epoll_event* events, std::int64_t deadline_ns) noexcept {
  if (deadline_ns == INT64_MAX) return epoll_wait(poller, events, most_events_at_once, -1);
  return wait_for(poller, events, std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0));
}

}  // namespace

int wait_in_poller(int poller, epoll_event (&events)[most_events_at_once],
                   std::int64_t deadline_ns) noexcept {
  begin_sleep();
  const int count = wait_until(poller, events, deadline_ns);
  end_sleep();
  return count;
}

}  // namespace sley::platform
