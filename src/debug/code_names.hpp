// Names of code for profiles, each looked up once.
#pragma once

#include "platform/symbols.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace sley::debug {

// A function that a piece of code is in, or is inlined into.
struct code_line {
  std::string function;     // as in the source
  std::string linker_name;  // as the linker has it
  std::string file;         // empty if unknown
  int line = 0;             // 0 if unknown
  bool is_inlined = false;
  std::uintptr_t function_start = 0;  // of the function that is not inlined; 0 if unknown
};

// For a stack as that of on_large_stack().
class code_names {
 public:
  explicit code_names(const platform::symbol_source& source = platform::own_symbols())
      : source_(source) {}

  // The functions that the call before a return address is in, innermost first. Empty if it has no
  // name.
  const std::vector<code_line>& of(std::uintptr_t return_address);
  // Is it a frame of the runtime's own, which says nothing to the author of a goroutine?
  bool is_runtimes_own(std::uintptr_t return_address);
  // The other frames. Stacks at the same place may have come there by different ways inside.
  std::vector<std::uintptr_t> without_runtimes_own(std::span<const std::uintptr_t> frames);

 private:
  static void keep(void* lines, const platform::frame_name& frame);

  const platform::symbol_source& source_;
  std::unordered_map<std::uintptr_t, std::vector<code_line>> lines_;
  std::unordered_map<std::uintptr_t, bool> is_own_;
};

}  // namespace sley::debug
