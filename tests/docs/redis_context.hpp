// What the snippets with Redis leave out.
#pragma once

#include <sley/redis.hpp>
#include <sley/tls.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace interoperation {
extern sley::context ctx;
extern sley::redis::connection c;
extern std::vector<std::string> keys;
void print(std::string_view);
}  // namespace interoperation
