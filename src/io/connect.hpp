// Connecting to the first of several addresses that answers.
#pragma once

#include <sley/net.hpp>

#include <system_error>
#include <vector>

namespace sley::io {

// Of two families the second begins 300 ms after the first, or when that has failed (RFC 8305).
// The first error counts, or the context's when that ends. Requires at least one endpoint. Parks.
detail::descriptor connect_to_any(const std::vector<net::endpoint>& endpoints, const context& ctx,
                                  std::error_code& error);

}  // namespace sley::io
