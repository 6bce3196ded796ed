// What the snippets with libcurl leave out.
#pragma once

#include <sley/curl.hpp>

#include <string>
#include <string_view>

namespace interoperation {
extern sley::context ctx;
void print(std::string_view);
}  // namespace interoperation
