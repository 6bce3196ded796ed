// Where the code of the program and its libraries lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

// A part of a file that is mapped as code.
struct loaded_code {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t file_offset = 0;
  const char* file = "";                     // as the loader knows it; empty: the program
  std::span<const std::byte> build_id = {};  // empty if it has none
};

// Must not throw. The argument is good until it returns.
using loaded_code_visitor = void (*)(void* arg, const loaded_code& code);

// Calls `visit` for each part, the program's first. Takes a lock of the dynamic loader.
void for_each_loaded_code(loaded_code_visitor visit, void* arg) noexcept;

}  // namespace sley::platform
