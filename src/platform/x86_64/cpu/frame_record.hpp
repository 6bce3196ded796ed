// Where functions of x86-64 have their frame records: see platform/unwind/sleeper.hpp.
#pragma once

#include "platform/unwind/sleeper.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>

namespace sley::platform {

// Does the function seem to change its stack pointer by an amount that is not in its code? Looks
// for the bytes of instructions that subtract a register from %rsp, move one into it, or align it.
inline bool changes_sp_by_unknown(std::span<const std::uint8_t> code) noexcept {
  constexpr unsigned mov_rbp_to_rsp = 0xec;  // 48 89 ec, at the end of functions
  for (std::size_t i = 0; i + 2 < code.size(); ++i) {
    const unsigned operation = code[i + 1];
    const unsigned operands = code[i + 2];
    // Two bits of the first byte, REX.B and REX.R, would make it %r12.
    const bool is_to_rsp = (code[i] & 0xf9U) == 0x48 && (operands & 0xc7U) == 0xc4;
    const bool is_from_any = (code[i] & 0xfcU) == 0x48 && (operands & 0xf8U) == 0xe0;
    if (operation == 0x29 && is_to_rsp) return true;
    if (operation == 0x89 && is_to_rsp && operands != mov_rbp_to_rsp) return true;
    if ((operation == 0x2b || operation == 0x8b) && is_from_any) return true;
    if ((operation == 0x81 || operation == 0x83) && is_to_rsp && operands == 0xe4) return true;
  }
  return false;
}

// Takes instructions off the beginning of a function.
class function_start {
 public:
  explicit function_start(std::span<const std::uint8_t> code) noexcept : code_(code) {}

  bool take(std::initializer_list<std::uint8_t> bytes) noexcept {
    if (bytes.size() > code_.size() ||
        std::memcmp(bytes.begin(), code_.data(), bytes.size()) != 0) {
      return false;
    }
    code_ = code_.subspan(bytes.size());
    return true;
  }
  // Takes the moves before these bytes as well.
  bool take_after_moves(std::initializer_list<std::uint8_t> bytes) noexcept {
    while (!take(bytes)) {
      if (!take_move()) return false;
    }
    return true;
  }
  bool take_push() noexcept {
    const std::size_t prefix = at(0) == 0x41 ? 1 : 0;
    return (at(prefix) & 0xf8U) == 0x50 && skip(prefix + 1);
  }
  // A move, or another instruction that gives a register a value, which is not %rsp.
  bool take_move() noexcept {
    const std::size_t prefix = (at(0) & 0xf0U) == 0x40 ? 1 : 0;
    const unsigned operation = at(prefix);
    if ((operation & 0xf8U) == 0xb8) return skip(prefix + 1 + ((at(0) & 0xf8U) == 0x48 ? 8 : 4));
    const bool is_to_rsp = (at(0) & 0xf4U) != 0x44 && (at(prefix + 1) & 0x38U) == 0x20;
    if (operation == 0x8d && is_to_rsp) return false;
    const bool is_known = operation == 0x89 || operation == 0x8b ||  // mov
                          operation == 0x8d || operation == 0x31;    // lea, xor
    return is_known && skip(prefix + 1 + operand_bytes(prefix + 1));
  }
  // Of a function, by its place or by a pointer.
  bool take_call() noexcept {
    if (at(0) == 0xe8) return skip(5);
    const std::size_t prefix = at(0) == 0x41 ? 1 : 0;
    const bool is_by_pointer = at(prefix) == 0xff && (at(prefix + 1) & 0x38U) == 0x10;
    return is_by_pointer && skip(prefix + 1 + operand_bytes(prefix + 1));
  }
  bool is_at_sub_of_rsp() const noexcept {
    return at(0) == 0x48 && (at(1) == 0x81 || at(1) == 0x83) && at(2) == 0xec;
  }
  // The number that it subtracts.
  std::uint64_t take_sub_of_rsp() noexcept {
    const bool is_byte = at(1) == 0x83;
    const std::uint64_t small = at(3);
    const std::uint64_t large = small | at(4) << 8 | at(5) << 16 | std::uint64_t{at(6)} << 24;
    return skip(is_byte ? 4 : 7) ? (is_byte ? small : large) : 0;
  }

  std::size_t bytes_left() const noexcept { return code_.size(); }
  // The byte there; 0 behind the end.
  unsigned at(std::size_t i) const noexcept { return i < code_.size() ? code_[i] : 0; }

 private:
  // A byte that says what the operands are, one more for an index, and a displacement.
  std::size_t operand_bytes(std::size_t i) const noexcept {
    const unsigned mode = at(i) >> 6;
    const unsigned base = at(i) & 7;
    if (mode == 3) return 1;
    const std::size_t index = base == 4 ? 1 : 0;
    if (mode == 1) return 1 + index + 1;
    const bool has_no_base = (index == 1 ? at(i + 1) & 7U : base) == 5;
    return 1 + index + (mode == 2 || has_no_base ? 4 : 0);
  }
  bool skip(std::size_t bytes) noexcept {
    if (bytes > code_.size()) return false;
    code_ = code_.subspan(bytes);
    return true;
  }

  std::span<const std::uint8_t> code_;
};

// `push %rbp; mov %rsp, %rbp`, pushes of registers that are preserved, and `sub $SIZE, %rsp`.
// Optimisers put moves in front and in between, and -fstack-clash-protection touches each page of a
// large frame. Where a call has arguments on the stack, %rsp is further down. `add $BYTES, %rsp`
// behind the call takes them off, or all of the frame where the function ends. A function without
// variables has no `sub`: that is known where nothing but pushes, moves and calls leads to the
// place.
inline std::optional<std::uint64_t> record_above_sp(std::span<const std::uint8_t> code,
                                                    std::size_t place) noexcept {
  function_start start(code);
  start.take({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  if (!start.take_after_moves({0x55}) || !start.take_after_moves({0x48, 0x89, 0xe5}) ||
      changes_sp_by_unknown(code)) {
    return {};
  }
  std::uint64_t pushed = 0;
  bool has_called = false;
  while (!start.is_at_sub_of_rsp()) {
    if (start.bytes_left() + place == code.size()) return pushed;
    if (start.take_push()) {
      pushed += sizeof(std::uint64_t);
    } else if (start.take_call()) {
      has_called = true;
    } else if (!start.take_move()) {
      return {};
    }
  }
  if (has_called) return {};  // the room is for arguments of a later call
  std::uint64_t size = start.take_sub_of_rsp();
  while (start.take({0x48, 0x83, 0x0c, 0x24, 0x00}) ||                    // orq $0, (%rsp)
         start.take({0x80, 0x0c, 0x24, 0x00}) ||                          // orb, by g++ 16
         start.take({0x48, 0xc7, 0x04, 0x24, 0x00, 0x00, 0x00, 0x00})) {  // movq $0, (%rsp)
    if (!start.is_at_sub_of_rsp()) return {};                             // a loop
    size += start.take_sub_of_rsp();
  }
  function_start behind(code.subspan(std::min(place, code.size())));
  const bool takes_arguments_off = behind.take({0x48, 0x83, 0xc4}) && behind.at(0) != size;
  if (takes_arguments_off) return {};
  return pushed + size;
}

}  // namespace sley::platform
