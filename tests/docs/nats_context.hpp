// What the snippets with NATS leave out.
#pragma once

#include <sley/nats.hpp>

#include <string>
#include <string_view>

namespace interoperation {
extern sley::context ctx;
extern sley::nats::connection c;
extern sley::nats::subscription jobs;
void print(std::string_view);
}  // namespace interoperation
