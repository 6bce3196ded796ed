#include "debug/frame_text.hpp"

#include "base/print.hpp"

namespace sley::debug {

namespace {

std::string hexadecimal(std::uint64_t n) {
  base::line_writer digits;
  return std::string(digits.hex(n).view());
}

void append_frame(std::string& to, std::uintptr_t return_address, code_names& names) {
  const std::string call = "#\t" + hexadecimal(return_address - 1);
  const std::vector<code_line>& lines = names.of(return_address);
  if (lines.empty()) to += call + '\n';
  for (const code_line& l : lines) {
    to += call + '\t' + l.function;
    if (l.function_start != 0) to += '+' + hexadecimal(return_address - 1 - l.function_start);
    if (!l.file.empty()) to += '\t' + l.file + ':' + std::to_string(l.line);
    to += '\n';
  }
}

}  // namespace

void append_stack(std::string& to, std::span<const std::uintptr_t> stack) {
  to += " @";
  for (const std::uintptr_t frame : stack) to += ' ' + hexadecimal(frame);
  if (stack.empty()) to += " 0x0";  // pprof refuses a line without an address
  to += '\n';
}

void append_functions(std::string& to, std::span<const std::uintptr_t> stack, code_names& names) {
  for (const std::uintptr_t frame : stack) append_frame(to, frame, names);
}

}  // namespace sley::debug
