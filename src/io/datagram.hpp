// Datagram sockets of all families.
#pragma once

#include <sley/net.hpp>

#include <system_error>

#include <sys/socket.h>

namespace sley::io {

using attach = int (*)(int, const sockaddr*, socklen_t);

// A socket that is bound or connected, by bind(2) or connect(2).
detail::descriptor open_datagram(const net::endpoint& at, attach how, std::error_code& error);

}  // namespace sley::io
