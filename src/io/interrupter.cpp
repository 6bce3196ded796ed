#include <sley/detail/interrupter.hpp>

#include "io/perform.hpp"

#include <sys/socket.h>

namespace sley::detail {

namespace {

// What streams show to the classes that are made of them.
struct opened final : net::stream {
  static rt::watched* record_of(const net::stream& s) noexcept {
    return (s.*&opened::descriptor_).get();
  }
};

}  // namespace

interrupter::interrupter(const net::stream& s) noexcept : watched_(opened::record_of(s)) {
  rt::enter();
  sequence_ = rt::sequence_of(watched_);
  rt::leave();
}

void interrupter::interrupt() const noexcept {
  rt::enter();
  const bool is_open = rt::begin_use(watched_, sequence_);
  rt::leave();
  if (!is_open) return;
  io::attempt([](int fd) { return ::shutdown(fd, SHUT_RDWR); }, watched_->fd);
  rt::enter();
  rt::end_use(watched_);
  rt::leave();
}

}  // namespace sley::detail
