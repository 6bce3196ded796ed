// The columns of unwind tables on riscv64, by DWARF's numbers: see platform/unwind/frame.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// x0 to x31 have the columns 0 to 31. The place has none of its own in tables: it is where ft0
// would be, which no call preserves.
enum column : std::uint8_t {
  column_return_address = 1,  // ra
  column_sp = 2,
  column_frame_pointer = 8,  // s0
  column_pc = 32,
};
inline constexpr std::size_t column_count = 33;

inline constexpr bool signs_return_addresses = false;
inline std::uint64_t without_signature(std::uint64_t return_address) noexcept {
  return return_address;
}

}  // namespace sley::platform
