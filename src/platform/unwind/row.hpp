// How the caller's registers are found at one instruction: a row of the table that a function's
// description (description.hpp) stands for.
//
// Nothing here calls malloc or takes a lock, and no table makes it crash or loop.
#pragma once

#include "platform/unwind/cursor.hpp"
#include "platform/unwind/description.hpp"
#include "platform/unwind/frame.hpp"

#include <cstdint>

namespace sley::platform {

// Where the caller's value of a register is. The CFA is the caller's stack pointer before the call.
struct column_rule {
  enum how : std::uint8_t {
    same,             // the frame has not changed it
    undefined,        // lost
    at_cfa,           // in memory at CFA + offset
    cfa,              // CFA + offset
    in_register,      // in the register with that number
    at_expression,    // in memory where the expression says
    expression,       // the value of the expression
    register_offset,  // for the CFA alone: the register's value + offset
  };

  how is = same;
  std::uint32_t number = 0;  // of the register, or the size of the expression
  std::uint64_t value = 0;   // the offset, or the address of the expression

  address_range program() const noexcept { return {value, value + number}; }
};

struct unwind_row {
  column_rule cfa;
  column_rule columns[column_count];
  bool is_return_address_signed = false;
};

// The row that is in force at `pc`, which the description covers. False: the program is damaged, or
// of a kind that compilers do not make.
bool find_row(const frame_tables& tables, const frame_description& description, std::uint64_t pc,
              unwind_row& row) noexcept;

}  // namespace sley::platform
