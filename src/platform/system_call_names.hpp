// Names of system calls, for reports.
#pragma once

#include <cstdint>
#include <string_view>

namespace sley::platform {

// The name as in the manual; empty for calls that hardly ever sleep, and for numbers that are none.
std::string_view name_of_system_call(std::int64_t number) noexcept;

}  // namespace sley::platform
