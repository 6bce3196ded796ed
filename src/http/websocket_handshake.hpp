// The checks of a WebSocket's opening handshake at the server (RFC 6455, 4.2).
#pragma once

#include <string>
#include <string_view>

namespace sley::http {

class request;

namespace detail {

// Throws status_error for a request that opens no WebSocket. With any_origin a page from another
// server may open one.
void check_upgrade(const request& in, bool any_origin);

// The first protocol of the list `ours` that the request offers; empty if it offers none. Names of
// protocols are compared with regard to case (RFC 6455, 11.5).
std::string choose_protocol(const request& in, std::string_view ours);

}  // namespace detail

}  // namespace sley::http
