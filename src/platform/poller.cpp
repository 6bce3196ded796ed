#include "platform/poller.hpp"

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

#include <sley/detail/atomic.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace sley::platform {

namespace {

constexpr std::size_t most_events = 128;
constexpr std::uint64_t break_tag = 0;

int poller = -1;   // [const] once opened
int breaker = -1;  // [const] once opened: an eventfd; a write is an edge, and nobody reads it
detail::atomic<bool> has_pwait2{true};  // relaxed: at worst it is tried once more

int add(int fd, std::uint32_t kinds, std::uint64_t tag) noexcept {
  epoll_event event = {};
  event.events = kinds | EPOLLET;
  event.data.u64 = tag;
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

int wait_in_milliseconds(epoll_event* events, std::int64_t delay_ns) noexcept {
  constexpr std::int64_t ms = 1'000'000;
  const std::int64_t delay_ms = delay_ns / ms + (delay_ns % ms != 0 ? 1 : 0);
  return epoll_wait(poller, events, most_events,
                    static_cast<int>(std::min<std::int64_t>(delay_ms, INT_MAX)));
}

// Sleeps for so long, if nothing happens.
int wait_for(epoll_event* events, std::int64_t delay_ns) noexcept {
  if (has_pwait2.load_relaxed()) {
    const timespec delay = {delay_ns / 1'000'000'000, delay_ns % 1'000'000'000};
    const long n = syscall(SYS_epoll_pwait2, poller, events, most_events, &delay, nullptr, 0);
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(n);
    has_pwait2.store_relaxed(false);
  }
  return wait_in_milliseconds(events, delay_ns);
}

int wait_until(epoll_event* events, std::int64_t deadline_ns) noexcept {
  if (deadline_ns == 0) return epoll_wait(poller, events, most_events, 0);
  if (deadline_ns == INT64_MAX) return epoll_wait(poller, events, most_events, -1);
  return wait_for(events, std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0));
}

poll_event translate(const epoll_event& event) noexcept {
  constexpr std::uint32_t over = EPOLLHUP | EPOLLERR;
  return {.tag = event.data.u64,
          .is_readable = (event.events & (EPOLLIN | EPOLLRDHUP | over)) != 0,
          .is_writable = (event.events & (EPOLLOUT | over)) != 0,
          .has_ended = (event.events & (EPOLLRDHUP | EPOLLPRI | over)) != 0};
}

}  // namespace

int open_poller() noexcept {
  const int saved = errno;
  poller = epoll_create1(EPOLL_CLOEXEC);
  breaker = poller < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int error = breaker < 0 ? errno : add(breaker, EPOLLIN, break_tag);
  if (error != 0) {
    if (breaker >= 0) ::close(breaker);
    if (poller >= 0) ::close(poller);
  }
  errno = saved;
  return error;
}

int watch(int fd, std::uint64_t tag) noexcept {
  const int saved = errno;
  const int error = add(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI, tag);
  errno = saved;
  return error;
}

void unwatch(int fd) noexcept {
  const int saved = errno;
  epoll_event ignored = {};
  epoll_ctl(poller, EPOLL_CTL_DEL, fd, &ignored);
  errno = saved;
}

std::size_t wait_for_events(std::span<poll_event> events, std::int64_t deadline_ns) noexcept {
  const int saved = errno;
  epoll_event found[most_events];
  begin_sleep();
  const int count = wait_until(found, deadline_ns);
  end_sleep();
  errno = saved;
  std::size_t n = 0;
  for (int i = 0; i < count; ++i) {
    if (found[i].data.u64 != break_tag) events[n++] = translate(found[i]);
  }
  return n;
}

void break_wait() noexcept {
  const int saved = errno;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(breaker, &one, sizeof one));
  errno = saved;
}

}  // namespace sley::platform
