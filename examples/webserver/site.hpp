// What is served: files, a small JSON API, and a look at the runtime.
#pragma once

#include <sley/http.hpp>

#include <string>

namespace webserver {

// `root`: see options.
sley::http::router make_site(const std::string& root);

}  // namespace webserver
