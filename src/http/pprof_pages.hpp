// The pages that `go tool pprof` asks for.
#pragma once

#include <sley/http/request.hpp>
#include <sley/http/response.hpp>

#include <string_view>

namespace sley::debug {

// Answers with the page of that name below "pprof/": "", "goroutine" and so on. http::status_error:
// 404, there is no such page; 400, a parameter that makes no sense.
void show_pprof(http::request& in, http::response& out, std::string_view page);

// Does the page take a body, and so a POST?
bool takes_body(std::string_view page) noexcept;

}  // namespace sley::debug
