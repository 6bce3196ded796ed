// Waiting for descriptors of other libraries.
#include <sley/context.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/os.hpp>

#include "io/look.hpp"
#include "io/observing.hpp"

namespace sley::os {

using detail::throwing;

namespace {

using enum poll_events;

poll_events observe(rt::watched* w, poll_events wanted, io::observing& o,
                    std::error_code& error) noexcept {
  poll_events found = none;
  while (found == none && !error) {  // ends by an event, or by what ends the wait
    const rt::io_result result = o.next_event();
    if (result != rt::io_result::ready) {
      error = io::error_of(result);
    } else {
      found = io::look(w->fd, wanted, error);
    }
  }
  return found;
}

}  // namespace

poll_fd::poll_fd(int fd, std::error_code& error) noexcept
    : io_object(detail::descriptor((error.clear(), fd), detail::io_kind::borrowed, error)) {}
poll_fd::poll_fd(int fd) {
  std::error_code error;
  *this = poll_fd(fd, error);
  if (error) detail::throw_io_error(error, "sley: wait for a descriptor");
}

poll_events poll_fd::wait(poll_events wanted, std::error_code& error) const noexcept {
  rt::watched* w = descriptor_.get();
  error.clear();
  if (io::refuse(w, error)) return none;
  io::observing o(w, io::is_about_reading(wanted), io::has(wanted, writable));
  return observe(w, wanted, o, error);
}
poll_events poll_fd::wait(poll_events wanted) const {
  return throwing("sley: wait", [&](std::error_code& e) { return wait(wanted, e); });
}

poll_events poll_fd::wait(poll_events wanted, const context& ctx, std::error_code& error) const {
  error = ctx.error();
  if (error) return none;
  rt::watched* w = descriptor_.get();
  if (io::refuse(w, error)) return none;
  io::observing o(w, io::is_about_reading(wanted), io::has(wanted, writable));
  const detail::on_context_end hook(ctx, [&] { o.end(io::end_of(ctx)); });
  return observe(w, wanted, o, error);
}
poll_events poll_fd::wait(poll_events wanted, const context& ctx) const {
  return throwing("sley: wait", [&](std::error_code& e) { return wait(wanted, ctx, e); });
}

void poll_fd::wait_readable(std::error_code& error) const noexcept { wait(readable, error); }
void poll_fd::wait_readable() const {
  throwing("sley: wait_readable", [this](std::error_code& e) { wait_readable(e); });
}
void poll_fd::wait_writable(std::error_code& error) const noexcept { wait(writable, error); }
void poll_fd::wait_writable() const {
  throwing("sley: wait_writable", [this](std::error_code& e) { wait_writable(e); });
}

void poll_fd::wait_readable(const context& ctx, std::error_code& error) const {
  wait(readable, ctx, error);
}
void poll_fd::wait_readable(const context& ctx) const {
  throwing("sley: wait_readable", [&](std::error_code& e) { wait_readable(ctx, e); });
}
void poll_fd::wait_writable(const context& ctx, std::error_code& error) const {
  wait(writable, ctx, error);
}
void poll_fd::wait_writable(const context& ctx) const {
  throwing("sley: wait_writable", [&](std::error_code& e) { wait_writable(ctx, e); });
}

}  // namespace sley::os
