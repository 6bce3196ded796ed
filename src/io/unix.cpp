// Unix stream sockets. From Go's net.UnixConn and UnixListener.
#include <sley/net.hpp>

#include "io/connect.hpp"
#include "io/listen.hpp"
#include "io/socket.hpp"

namespace sley::net {

using detail::throwing;

unix_stream unix_stream::connect(std::string_view path, std::error_code& error) {
  const endpoint to = io::parse_path(path, error);
  if (error) return {};
  return unix_stream(io::connect_to_any({to}, time_point::max(), error));
}
unix_stream unix_stream::connect(std::string_view path) {
  std::error_code error;
  unix_stream connected = connect(path, error);
  if (error) throw io::failed(error, "sley: connect to", path);
  return connected;
}

unix_listener unix_listener::listen(std::string_view path, const listen_options& options,
                                    std::error_code& error) {
  const endpoint at = io::parse_path(path, error);
  if (error) return {};
  unix_listener l(io::listen_at(at, options, error), false);
  if (!error && path.front() != '@') l.own_file(path);
  return l;
}
unix_listener unix_listener::listen(std::string_view path, const listen_options& options) {
  std::error_code error;
  unix_listener l = listen(path, options, error);
  if (error) throw io::failed(error, "sley: listen at", path);
  return l;
}

unix_stream unix_listener::accept(std::error_code& error) const {
  return unix_stream(accept_next(error));
}
unix_stream unix_listener::accept() const {
  return throwing("sley: accept", [this](std::error_code& e) { return accept(e); });
}

}  // namespace sley::net
