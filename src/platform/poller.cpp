#include "platform/poller.hpp"

#include "platform/poller_wait.hpp"
#include "platform/system_call.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace sley::platform {

namespace {

constexpr std::uint64_t break_tag = 0;

int poller = -1;   // [const] once opened
int breaker = -1;  // [const] once opened: an eventfd; a write is an edge, and nobody reads it

int add(int fd, std::uint32_t kinds, std::uint64_t tag) noexcept {
  epoll_event event = {};
  event.events = kinds | EPOLLET;
  event.data.u64 = tag;
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
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
  epoll_event found[most_events_at_once];
  const int count = deadline_ns == 0 ? kernel::epoll_wait(poller, found, most_events_at_once, 0)
                                     : wait_in_poller(poller, found, deadline_ns);
  errno = saved;
  std::size_t n = 0;
  for (int i = 0; i < count; ++i) {
    if (found[i].data.u64 != break_tag) {
      events[n++] = translate(found[i]);
    } else if (deadline_ns == 0) {
      break_wait();  // it is for one that sleeps
    }
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
