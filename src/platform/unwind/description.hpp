// Finds what a program's tables say of a piece of code: .eh_frame_hdr, which linkers write, is a
// sorted index of .eh_frame, which has one description for each function.
//
// Nothing here calls malloc or takes a lock, and no table makes it crash or loop.
#pragma once

#include "platform/unwind/cursor.hpp"

#include <cstdint>

namespace sley::platform {

// The tables of a program or a library.
struct frame_tables {
  image bytes;               // hold all of them
  std::uint64_t header = 0;  // the address of .eh_frame_hdr
};

// What is common to the rows of a function: see row.hpp.
struct frame_description {
  address_range code;
  address_range common_program;  // the first row
  address_range program;         // the differences of the other rows
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint8_t address_encoding = 0;
  std::uint8_t return_column = 0;  // has the caller's place; a few functions have one of their own
  bool is_augmented = false;       // its entries have data that rows do not need
  bool is_signal_frame = false;    // the kernel's call of a signal handler
};

// Finds the description of the code that holds `pc`. False: there is none, or it is damaged, or of
// a form that neither gcc nor clang nor a linker makes for this CPU.
bool find_description(const frame_tables& tables, std::uint64_t pc,
                      frame_description& found) noexcept;

// Reads a pointer of exception tables (DW_EH_PE_...). `header`: what DW_EH_PE_datarel is relative
// to. The cursor fails at an encoding that is not one of these tables.
std::uint64_t read_pointer(cursor& at, std::uint8_t encoding, std::uint64_t header) noexcept;

}  // namespace sley::platform
