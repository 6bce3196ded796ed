// The columns of unwind tables on x86-64, by DWARF's numbers: see platform/unwind/frame.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sley::platform {

enum column : std::uint8_t {
  column_rbx = 3,
  column_frame_pointer = 6,  // rbp
  column_sp = 7,             // rsp
  column_r12 = 12,
  column_r13 = 13,
  column_r14 = 14,
  column_r15 = 15,
  column_pc = 16,  // rip
};
inline constexpr std::size_t column_count = 17;
inline constexpr column column_return_address = column_pc;

inline constexpr bool signs_return_addresses = false;
inline std::uint64_t without_signature(std::uint64_t return_address) noexcept {
  return return_address;
}

}  // namespace sley::platform
