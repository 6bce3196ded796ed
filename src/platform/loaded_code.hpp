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

// The program or a library.
struct loaded_file {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bias = 0;                   // how far it lies from where it was linked for
  const char* file = "";                     // as above
  std::span<const std::byte> build_id = {};  // as above
};

// Must not throw. The argument is good until it returns.
using loaded_file_visitor = void (*)(void* arg, const loaded_file& file);

// Calls `visit` for the file that has the address in it. False, without a visit: no file has it.
// Takes a lock of the dynamic loader, which it holds during the visit.
bool visit_file_with(std::uintptr_t address, loaded_file_visitor visit, void* arg) noexcept;

// Calls `visit` for each part, the program's first. Takes a lock of the dynamic loader.
void for_each_loaded_code(loaded_code_visitor visit, void* arg) noexcept;

}  // namespace sley::platform
