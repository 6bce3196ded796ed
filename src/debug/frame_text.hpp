// Frames in the text of a profile, in the layout of Go's.
#pragma once

#include "debug/code_names.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace sley::debug {

// " @ 0x401136 0x401200", and a line for each function.
void append_stack(std::string& to, std::span<const std::uintptr_t> stack);
void append_functions(std::string& to, std::span<const std::uintptr_t> stack, code_names& names);

}  // namespace sley::debug
