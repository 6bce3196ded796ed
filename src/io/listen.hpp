// Sockets that listen.
#pragma once

#include <sley/net.hpp>

#include <system_error>

namespace sley::io {

// A new one.
detail::descriptor listen_at(const net::endpoint& at, const net::listen_options& options,
                             std::error_code& error);

// Takes over a stream socket that listens, of AF_UNIX or else of TCP; it is closed on errors. The
// second form throws std::system_error that names the descriptor.
enum class listener_kind : unsigned char { tcp, unix_stream };
detail::descriptor take_over_listener(int fd, listener_kind kind, std::error_code& error) noexcept;
detail::descriptor take_over_listener(int fd, listener_kind kind);

}  // namespace sley::io
