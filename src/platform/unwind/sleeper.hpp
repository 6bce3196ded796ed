// The frames of a thread that sleeps in the kernel, without a signal to it, because some system
// calls return EINTR after one. The thread is of this process or of another one.
//
// The kernel tells the thread's place and its stack pointer, and no other register. That is enough
// for most code. The frame pointer of a function that has one points to a record in its frame: the
// caller's frame pointer, and the return address. Where that is follows from the beginning of the
// function's code. It must lead to the bottom of the stack. Where the code does not show it, as in
// functions whose frames have no fixed size, the thread has no frames here.
//
// Rejected: a search for the record in the frame. What calls before have left there looks the same,
// also where it is checked that the address is behind a call of this function, because the same
// functions call each other again and again on a stack.
#pragma once

#include "platform/os.hpp"
#include "platform/unwind/walk.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sley::platform {

// Writes the return addresses of a thread that sleeps there, innermost first, and returns their
// number. 0 if they do not lead to the bottom of a goroutine's stack, which is `stack`, and which
// `memory` can read. They may be anything if the thread has run meanwhile. Takes no lock if the
// search for tables takes none, as finds_own_tables_without_lock() tells of own_code.
std::size_t collect_sleepers_frames(const sleeping_place& at, address_range stack,
                                    const stack_memory& memory, std::span<std::uintptr_t> frames,
                                    const process_code& code = own_code) noexcept;

// ---- for tests ----

// How far the frame record of a function is above the stack pointer, where the function calls
// another one, which returns to `place` in its code, or the system. Nothing if the function has no
// record, or its code does not show where that is.
inline std::optional<std::uint64_t> record_above_sp(std::span<const std::uint8_t> code,
                                                    std::size_t place) noexcept;

}  // namespace sley::platform

#include "cpu/frame_record.hpp"
