// The value of an expression in a program's unwind tables.
#pragma once

#include "platform/unwind/cursor.hpp"
#include "platform/unwind/frame.hpp"

#include <cstdint>

namespace sley::platform {

// What an expression may use.
struct expression_input {
  const image& bytes;  // the tables that it is in
  const frame_registers& registers;
  const stack_memory& memory;
};

// Calculates it, on a stack of DWARF's that `first` is on if it is not null. False: it is damaged,
// uses what is not known, or does not end within some hundred operations.
bool evaluate(const expression_input& input, address_range program, const std::uint64_t* first,
              std::uint64_t& value) noexcept;

}  // namespace sley::platform
