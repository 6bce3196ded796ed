// Where a client goes when an answer sends it elsewhere.
#pragma once

#include "http/client_exchange.hpp"

#include <optional>
#include <system_error>

namespace sley::http::detail {

// The request that must be sent next; nullopt if the answer must be handed out as it is. A Location
// that is none is errc::malformed. From Go's redirectBehavior and shouldCopyHeaderOnRedirect.
std::optional<hop> redirect(const hop& from, const response_head& answer, std::error_code& error);

}  // namespace sley::http::detail
