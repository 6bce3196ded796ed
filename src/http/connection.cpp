#include <sley/http/connection.hpp>

#include <sley/detail/stream_connection.hpp>

#include <utility>

#include <sys/uio.h>

namespace sley::http {

connection::~connection() = default;

connection_ptr make_connection(net::tcp_stream stream) {
  return std::make_unique<detail::stream_connection<net::tcp_stream, false>>(std::move(stream));
}

connection_ptr make_connection(net::unix_stream stream) {
  return std::make_unique<detail::stream_connection<net::unix_stream, false>>(std::move(stream));
}

}  // namespace sley::http
