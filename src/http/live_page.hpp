// The page at "/debug/": what the process does now, looked at again every two seconds.
#pragma once

#include <string_view>

namespace sley::debug {

// HTML with all that it needs. It asks for "metrics" and "goroutines.json" beside it.
extern const std::string_view live_page;

}  // namespace sley::debug
