// The columns of unwind tables on aarch64, by DWARF's numbers: see platform/unwind/frame.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// x0 to x30 have the columns 0 to 30.
enum column : std::uint8_t {
  column_frame_pointer = 29,
  column_return_address = 30,
  column_sp = 31,
  column_pc = 32,
};
inline constexpr std::size_t column_count = 33;

inline constexpr bool signs_return_addresses = true;

// `xpaclri`. A CPU without pointer authentication does nothing at this hint.
inline std::uint64_t without_signature(std::uint64_t return_address) noexcept {
  register std::uint64_t x30 asm("x30") = return_address;
  asm("hint #7" : "+r"(x30));
  return x30;
}

}  // namespace sley::platform
