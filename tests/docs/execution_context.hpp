// What the snippets with senders leave out: an implementation of P2300 by the name of stdexec, too.
#pragma once

#include "support/p2300.hpp"

#define SLEY_EXECUTION_NAMESPACE p2300
#include <sley/execution.hpp>

#include <string>
#include <string_view>

namespace stdexec = p2300;

namespace interoperation {
extern sley::context ctx;
extern sley::context shorter;
extern sley::chan<int> numbers;
extern p2300::inplace_stop_source source;
extern p2300::inplace_stop_token sender_token;
struct some_receiver {};
extern some_receiver receiver;
std::string load(const sley::context&);
void print(std::string_view);
}  // namespace interoperation
