// Names become addresses.
#pragma once

#include <sley/net.hpp>

#include <string_view>
#include <system_error>
#include <vector>

namespace sley::io {

// As net::lookup. Parks.
std::vector<net::endpoint> resolve(std::string_view host, const context& ctx,
                                   std::error_code& error);

// What "host:port" means: for listeners the unspecified address if it names no host, for others the
// addresses of the host, this machine if it names none. Parks.
net::endpoint where_to_listen(std::string_view host_port, const context& ctx,
                              std::error_code& error);
std::vector<net::endpoint> where_to_connect(std::string_view host_port, const context& ctx,
                                            std::error_code& error);

}  // namespace sley::io
