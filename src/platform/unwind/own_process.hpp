// Unwinding stacks of this process.
#pragma once

#include "platform/context.hpp"
#include "platform/unwind/description.hpp"
#include "platform/unwind/frame.hpp"
#include "platform/unwind/walk.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

// Finds the tables of the program or library that has the address in its memory. False: none has
// it, as for code that the program has generated. The answer is never out of date.
bool find_own_tables(std::uint64_t address, frame_tables& tables) noexcept;

// The same by dl_iterate_phdr(3), which takes a lock of libc.
bool find_own_tables_by_list(std::uint64_t address, frame_tables& tables) noexcept;

// Does find_own_tables take no lock? With glibc 2.35 and later it asks _dl_find_object, which has
// none, and which a signal handler may call. With glibc 2.34 it takes libc's lock for the list of
// loaded objects. A list that is kept here, and read again when the loader's counts have changed,
// would be out of date between the unloading of an object and the next reading, and another object
// may be in its place by then.
bool finds_own_tables_without_lock() noexcept;

// Memory that stays readable while a stack is looked at, such as the stack of a goroutine that
// waits. Its words are loaded directly. All other addresses are read by the kernel, which reports
// an address that can't be read.
struct own_stack {
  std::uintptr_t low = 0;
  std::uintptr_t end = 0;

  bool holds(std::uint64_t address) const noexcept { return bounds().holds(address); }
  address_range bounds() const noexcept { return {low, end}; }

  // Valid while this object lives.
  stack_memory memory() const noexcept;
};

// The innermost part of a stack as it is now, which may change or be unmapped at any moment. The
// rest is read by the kernel when it is asked for.
class stack_copy {
 public:
  explicit stack_copy(std::uint64_t stack_pointer) noexcept;

  // Valid while this object lives.
  stack_memory memory() const noexcept { return {&read, this}; }

 private:
  static bool read(const void* self, std::uint64_t address, void* to, std::size_t size) noexcept;

  static constexpr std::size_t most_bytes = 4096;
  std::uint64_t begin_;
  std::size_t size_;
  std::byte bytes_[most_bytes];
};

// The registers of a context: where it goes on.
frame_registers registers_of(const context& saved) noexcept;

// The calling function's registers: its place, and the registers that a call preserves.
inline frame_registers registers_here() noexcept;

// The registers of a thread that a signal has interrupted. `ucontext`: what its handler got.
frame_registers registers_in(const void* ucontext) noexcept;

// The registers of a thread in a core. `general`: what the kernel writes of its general registers
// (pr_reg of prstatus_t).
frame_registers registers_in_core(const void* general) noexcept;

// The caller's registers of a frame whose function has not run an instruction. The frame itself if
// they can't be read.
frame_registers caller_at_entry(const frame_registers& frame, const stack_memory& memory) noexcept;

}  // namespace sley::platform

#include "cpu/registers.hpp"
