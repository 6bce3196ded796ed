// Waiting for descriptors of other libraries.
#include <sley/context.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/os.hpp>

#include "io/perform.hpp"

#include <poll.h>

namespace sley::os {

using detail::throwing;

namespace {

void wait(const detail::descriptor& d, io::direction direction, rt::io_cancel* cancel,
          std::error_code& error) noexcept {
  const short wanted = direction == io::direction::read ? POLLIN | POLLRDHUP : POLLOUT;
  io::perform(
      d.get(), direction,
      [wanted](int fd) {
        pollfd one = {.fd = fd, .events = wanted, .revents = 0};
        const int n = ::poll(&one, 1, 0);
        if (n == 0) platform::set_errno(EAGAIN);
        return n == 0 ? -1 : n;
      },
      [](long) { return false; }, error, cancel);
}

void wait(const detail::descriptor& d, io::direction direction, const context& ctx,
          std::error_code& error) {
  error.clear();
  rt::watched* w = d.get();
  if (io::refuse(w, error)) return;
  rt::io_cancel cancel;
  {
    const detail::on_context_end hook(ctx, [&cancel, w, direction] {
      const rt::inside inside;
      rt::cancel_io(w, io::side_of(w, direction), cancel);
    });
    if (error = ctx.error(); !error) wait(d, direction, &cancel, error);
  }
  if (cancel.is_canceled && error) error = ctx.error();
}

}  // namespace

poll_fd::poll_fd(int fd, std::error_code& error) noexcept
    : io_object(detail::descriptor((error.clear(), fd), detail::io_kind::borrowed, error)) {}
poll_fd::poll_fd(int fd) {
  std::error_code error;
  *this = poll_fd(fd, error);
  if (error) detail::throw_io_error(error, "sley: wait for a descriptor");
}

void poll_fd::wait_readable(std::error_code& error) const noexcept {
  wait(descriptor_, io::direction::read, nullptr, error);
}
void poll_fd::wait_readable() const {
  throwing("sley: wait_readable", [this](std::error_code& e) { wait_readable(e); });
}
void poll_fd::wait_writable(std::error_code& error) const noexcept {
  wait(descriptor_, io::direction::write, nullptr, error);
}
void poll_fd::wait_writable() const {
  throwing("sley: wait_writable", [this](std::error_code& e) { wait_writable(e); });
}

void poll_fd::wait_readable(const context& ctx, std::error_code& error) const {
  wait(descriptor_, io::direction::read, ctx, error);
}
void poll_fd::wait_readable(const context& ctx) const {
  throwing("sley: wait_readable", [&](std::error_code& e) { wait_readable(ctx, e); });
}
void poll_fd::wait_writable(const context& ctx, std::error_code& error) const {
  wait(descriptor_, io::direction::write, ctx, error);
}
void poll_fd::wait_writable(const context& ctx) const {
  throwing("sley: wait_writable", [&](std::error_code& e) { wait_writable(ctx, e); });
}

}  // namespace sley::os
