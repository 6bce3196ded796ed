#include "debug/code_names.hpp"

#include "runtime/inspect/goroutine_text.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace sley::debug {

void code_names::keep(void* lines, const platform::frame_name& frame) {
  if (frame.function.empty()) return;
  std::array<char, 4096> buffer;
  code_line line;
  line.function = platform::demangle(frame.function, buffer, true);
  line.linker_name = frame.function;
  if (frame.line != 0) line.file = frame.file;  // else it is that of the program or library
  line.line = frame.line;
  line.is_inlined = frame.is_inlined;
  line.function_start = frame.function_start;
  static_cast<std::vector<code_line>*>(lines)->push_back(std::move(line));
}

const std::vector<code_line>& code_names::of(std::uintptr_t return_address) {
  const auto [at, is_new] = lines_.try_emplace(return_address);
  if (is_new) source_.describe(return_address, &code_names::keep, &at->second);
  return at->second;
}

bool code_names::is_runtimes_own(std::uintptr_t return_address) {
  const auto [at, is_new] = is_own_.try_emplace(return_address);
  if (is_new) at->second = rt::is_runtimes_own(return_address, source_);
  return at->second;
}

std::vector<std::uintptr_t> code_names::without_runtimes_own(
    std::span<const std::uintptr_t> frames) {
  std::vector<std::uintptr_t> shown;
  std::ranges::copy_if(frames, std::back_inserter(shown),
                       [this](std::uintptr_t frame) { return !is_runtimes_own(frame); });
  return shown;
}

}  // namespace sley::debug
