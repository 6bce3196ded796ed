// The definitions of what <sley/poll_loop.hpp> declares.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/select.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>

#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace sley {

inline poll_loop::poll_loop(ready_function on_ready, timer_function on_timer)
    : on_ready_(std::move(on_ready)), on_timer_(std::move(on_timer)) {
  if (!on_ready_ || !on_timer_) throw std::invalid_argument("sley: poll_loop: an empty function");
  running_.go([this] { serve(); });
}

inline void poll_loop::serve() {
  while (!life_.first.error()) {
    select(os::on_ready(epoll_, os::poll_events::readable), on_receive(timer_.channel()),
           on_receive(life_.first.done()));
    call_timer();
    for (int n = 0; n < events_at_once && call_ready(); ++n) {
    }
  }
}

// What has woken the goroutine may be an older time than the one that is set now.
inline void poll_loop::call_timer() {
  const std::lock_guard guard(library_);
  if (std::chrono::steady_clock::now() < due_) return;
  due_ = time_point::max();
  on_timer_();
}

// One event at a time: of several, the later might be of descriptors that the first one's callback
// closes. The kernel takes turns.
inline bool poll_loop::call_ready() {
  using enum os::poll_events;
  const std::lock_guard guard(library_);
  epoll_event e = {};
  if (::epoll_wait(epoll_.native_handle(), &e, 1, 0) != 1) return false;
  os::poll_events found = none;
  if ((e.events & (EPOLLIN | EPOLLRDHUP)) != 0) found |= readable;
  if ((e.events & EPOLLOUT) != 0) found |= writable;
  if ((e.events & EPOLLHUP) != 0) found |= hang_up;
  if ((e.events & EPOLLERR) != 0) found |= failure;
  on_ready_(e.data.fd, found);
  return true;
}

inline void poll_loop::watch(int fd, os::poll_events wanted, std::error_code& error) noexcept {
  using enum os::poll_events;
  std::uint32_t events = 0;
  if ((wanted & readable) != none) events |= EPOLLIN | EPOLLRDHUP;
  if ((wanted & writable) != none) events |= EPOLLOUT;
  const int epoll = epoll_.native_handle();
  int number = change(epoll, EPOLL_CTL_MOD, fd, events);
  if (number == ENOENT) number = change(epoll, EPOLL_CTL_ADD, fd, events);
  error.assign(number, std::generic_category());
}
inline void poll_loop::watch(int fd, os::poll_events wanted) {
  std::error_code error;
  watch(fd, wanted, error);
  if (error) throw std::system_error(error, "sley: poll_loop: watch");
}

inline void poll_loop::forget(int fd) noexcept {
  change(epoll_.native_handle(), EPOLL_CTL_DEL, fd, 0);
}

inline void poll_loop::set_timer(time_span d) {
  due_ = detail::time_in(d);
  timer_.reset(d);
}

inline void poll_loop::stop() noexcept {
  life_.second();
  running_.wait();
}

inline int poll_loop::new_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "sley: poll_loop: epoll");
  return fd;
}

// The error's number, or 0. Not inlined: a caller that goes on on another thread would look at the
// `errno` of the first.
[[gnu::noinline]] inline int poll_loop::change(int epoll, int operation, int fd,
                                               std::uint32_t events) noexcept {
  epoll_event e = {};
  e.events = events;
  e.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &e) == 0 ? 0 : errno;
}

}  // namespace sley
