// What the snippets with PostgreSQL leave out.
#pragma once

#include <sley/postgres.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interoperation {
extern sley::context ctx;
extern sley::postgres::connection c;
extern std::string id, from, to;
extern std::vector<std::string> ids;
void print(std::string_view);
}  // namespace interoperation
