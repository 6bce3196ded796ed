// Where a function of the library was called from, as a word or two of text.
#pragma once

#include "base/print.hpp"

#include <cstdint>
#include <span>

namespace sley::rt {

// The return addresses of the calling thread, innermost first, and zeros behind them. Cheap on a
// goroutine's stack in code that keeps frame pointers. No malloc.
void collect_place(std::span<std::uintptr_t> frames) noexcept;

// The innermost function there that is the program's own, and the line: "use() at stuck.cpp:5".
// Runs on a stack of its own; may allocate; one thread at a time.
void append_place(base::line_writer& line, std::span<const std::uintptr_t> frames) noexcept;

}  // namespace sley::rt
