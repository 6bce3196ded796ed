// Files of /proc of which the beginning is enough. Any thread; errno stays as it was.
#pragma once

#include <cstddef>
#include <string_view>

namespace sley::platform {

struct sleeping_place;

// Reads the file's beginning, as far as it fits. The number of bytes, 0 if it can't be read.
std::size_t read_start(const char* path, char* text, std::size_t size) noexcept;

// What is behind the program's name in the text of a `stat` of /proc: "S 1 ...". The name is in
// parentheses and may contain some itself. Empty if there is no name.
std::string_view after_name(std::string_view stat) noexcept;

// That of the file at the path, as far as it fits. Empty if the file can't be read.
std::string_view stat_after_name(const char* path, char* text, std::size_t size) noexcept;

// Reads a thread's `syscall` of /proc. False if the thread runs, or the file can't be read.
bool read_sleeping_place(const char* path, sleeping_place& at) noexcept;

}  // namespace sley::platform
