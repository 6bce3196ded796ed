#include "platform/poller.hpp"

#include "base/published.hpp"
#include "platform/poller_wait.hpp"
#include "platform/system_call.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sley::platform {

namespace {

constexpr std::size_t most_events_at_once = 128;

// The descriptors that a wait looks at: an eventfd that breaks it, and behind it the sets.
pollfd awaited[most_awaited];  // [const] once its set is counted
base::published<std::uint32_t> sets;

int breaker() noexcept { return awaited[0].fd; }
int set_fd(std::uint32_t set) noexcept { return awaited[1 + set].fd; }

int open_breaker() noexcept {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return errno;
  awaited[0] = {.fd = fd, .events = POLLIN, .revents = 0};
  return 0;
}

int open_set() noexcept {
  const std::uint32_t number = sets.read_relaxed();
  if (number == most_poll_sets) return ENOSPC;
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return errno;
  awaited[1 + number] = {.fd = fd, .events = POLLIN, .revents = 0};
  sets.publish(number + 1);
  return 0;
}

poll_event translate(const epoll_event& event) noexcept {
  constexpr std::uint32_t over = EPOLLHUP | EPOLLERR;
  return {.tag = event.data.u64,
          .is_readable = (event.events & (EPOLLIN | EPOLLRDHUP | over)) != 0,
          .is_writable = (event.events & (EPOLLOUT | over)) != 0,
          .has_ended = (event.events & (EPOLLRDHUP | EPOLLPRI | over)) != 0};
}

}  // namespace

int open_poll_set() noexcept {
  const int saved = errno;
  const bool is_first = sets.read_relaxed() == 0;
  int error = is_first ? open_breaker() : 0;
  if (error == 0) {
    error = open_set();
    if (error != 0 && is_first) ::close(breaker());
  }
  errno = saved;
  if (error == 0 && !is_first) break_wait();  // a wait under way does not look at it yet
  return error;
}

int watch(std::uint32_t set, int fd, std::uint64_t tag) noexcept {
  const int saved = errno;
  note_watched();
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
  event.data.u64 = tag;
  const int error = epoll_ctl(set_fd(set), EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

void unwatch(std::uint32_t set, int fd) noexcept {
  const int saved = errno;
  epoll_event ignored = {};
  epoll_ctl(set_fd(set), EPOLL_CTL_DEL, fd, &ignored);
  errno = saved;
}

int incoming_cpu(int fd) noexcept {
  const int saved = errno;
  int cpu = -1;
  socklen_t size = sizeof cpu;
  if (getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &size) != 0) cpu = -1;
  errno = saved;
  return cpu;
}

std::size_t take_events(std::uint32_t set, std::span<poll_event> events) noexcept {
  const int saved = errno;
  epoll_event found[most_events_at_once];
  const std::size_t room = std::min(events.size(), most_events_at_once);
  const int count = kernel::epoll_wait(set_fd(set), found, static_cast<int>(room), 0);
  errno = saved;
  for (int i = 0; i < count; ++i) events[static_cast<std::size_t>(i)] = translate(found[i]);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

bool wait_for_events(std::int64_t deadline_ns) noexcept {
  const int saved = errno;
  pollfd looked_at[most_awaited];
  const std::size_t count = 1 + sets.read();
  std::copy_n(awaited, count, looked_at);
  wait_for_any({looked_at, count}, deadline_ns);
  std::uint64_t breaks;
  if (looked_at[0].revents != 0) static_cast<void>(!::read(breaker(), &breaks, sizeof breaks));
  errno = saved;
  return std::any_of(looked_at + 1, looked_at + count,
                     [](const pollfd& set) { return set.revents != 0; });
}

void break_wait() noexcept {
  const int saved = errno;
  note_break();
  const std::uint64_t one = 1;
  static_cast<void>(!::write(breaker(), &one, sizeof one));
  errno = saved;
}

}  // namespace sley::platform
