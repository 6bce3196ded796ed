// What an unwinder knows of a frame, and how it reads the memory that the stack is in.
#pragma once

// The columns of unwind tables, `column` and `column_count`: registers that a call preserves, among
// them `column_sp` and `column_frame_pointer`. A call leaves its return address in
// `column_return_address`. A frame's own place is in `column_pc`, which may be the same column.
// If `signs_return_addresses`, a return address may hold a signature, as the tables say, and
// without_signature() takes it out.
#include "cpu/columns.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// Registers as they are, or were, in a frame.
class frame_registers {
 public:
  bool knows(std::uint64_t column) const noexcept {
    return column < column_count && (known_ >> column & 1) != 0;
  }
  // 0 if it is not known.
  std::uint64_t get(column c) const noexcept { return values_[c]; }
  void set(std::size_t column, std::uint64_t value) noexcept {
    values_[column] = value;
    known_ |= std::uint64_t{1} << column;
  }
  void forget(std::size_t column) noexcept {
    values_[column] = 0;
    known_ &= ~(std::uint64_t{1} << column);
  }

  std::uint64_t pc() const noexcept { return get(column_pc); }

  // The instruction at pc has not run. Otherwise pc is a return address, and the call before it may
  // be the last instruction of its function.
  bool is_interrupted = false;

 private:
  std::uint64_t values_[column_count] = {};
  std::uint64_t known_ = 0;
};

// The memory that a stack is in: the process's own, a copy, another process's, a core's.
struct stack_memory {
  // Reads 1, 2, 4 or 8 bytes. False: they can't be read.
  bool (*read)(const void* arg, std::uint64_t address, void* to, std::size_t size) noexcept;
  const void* arg;

  bool read_word(std::uint64_t address, std::uint64_t& word) const noexcept {
    return read(arg, address, &word, sizeof(word));
  }
};

}  // namespace sley::platform
