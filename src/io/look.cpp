#include "io/look.hpp"

#include "io/perform.hpp"
#include "platform/poll_any.hpp"

#include <poll.h>

namespace sley::io {

os::poll_events look(int fd, os::poll_events wanted, std::error_code& error) noexcept {
  using enum os::poll_events;
  short asked = 0;
  if (has(wanted, readable)) asked |= POLLIN | POLLRDHUP;
  if (has(wanted, writable)) asked |= POLLOUT;
  pollfd one = {.fd = fd, .events = asked, .revents = 0};
  constexpr timespec at_once = {};
  const long n = attempt([&](int) { return platform::poll_any({&one, 1}, &at_once); }, fd);
  if (n == -EINTR || !is_success(n, error)) return none;
  if ((one.revents & POLLNVAL) != 0) error = std::make_error_code(std::errc::bad_file_descriptor);
  os::poll_events found = none;
  if ((one.revents & (POLLIN | POLLRDHUP)) != 0) found |= readable;
  if ((one.revents & POLLOUT) != 0) found |= writable;
  if ((one.revents & POLLHUP) != 0) found |= hang_up;
  if ((one.revents & POLLERR) != 0) found |= failure;
  return found;
}

}  // namespace sley::io
