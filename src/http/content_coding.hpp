// Which coding of a body a client wants.
#pragma once

#include <sley/http/fields.hpp>

namespace sley::http::detail {

// By Accept-Encoding: is gzip acceptable, and no worse than the body as it is? RFC 9110, 12.5.3.
bool prefers_gzip(const fields& headers) noexcept;

}  // namespace sley::http::detail
