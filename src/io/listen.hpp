// Sockets that listen.
#pragma once

#include <sley/net.hpp>

#include <system_error>

namespace sley::io {

detail::descriptor listen_at(const net::endpoint& at, const net::listen_options& options,
                             std::error_code& error);

}  // namespace sley::io
