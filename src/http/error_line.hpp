// What the library itself has to say of errors, where nothing else is asked for.
#pragma once

#include <string_view>

namespace sley::http::detail {

// One line of the library's log, "sley: http: " and the text. The control characters of the text
// are escaped, because it may come from a peer.
void print_error(std::string_view text);

}  // namespace sley::http::detail
