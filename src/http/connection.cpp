#include <sley/http/connection.hpp>

#include "http/pieces.hpp"

#include <sley/detail/stream_connection.hpp>

#include <array>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace sley::http {

namespace detail {

void notice_progress_early(int fd) noexcept {
  constexpr int most_unsent = 256 << 10;
  // Fails on a socket that is not TCP's.
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
}

}  // namespace detail

connection::~connection() = default;

std::size_t connection::write_some(std::span<const iovec> buffers, std::error_code& error) {
  constexpr std::size_t most = 64 << 10;
  std::array<iovec, 8> room;
  const std::span<const iovec> first = detail::first_bytes(buffers, most, room);
  error.clear();
  if (!first.empty()) write_all(first, error);
  return error ? 0 : detail::bytes_in(first);
}

void connection::set_context(const context&) {
  throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                          "sley: set_context of a connection");
}

connection_ptr make_connection(net::tcp_stream stream) {
  return std::make_unique<detail::stream_connection<net::tcp_stream, false>>(std::move(stream));
}

connection_ptr make_connection(net::unix_stream stream) {
  return std::make_unique<detail::stream_connection<net::unix_stream, false>>(std::move(stream));
}

}  // namespace sley::http
