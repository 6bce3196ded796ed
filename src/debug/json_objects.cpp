#include "debug/json_objects.hpp"

#include "platform/symbols.hpp"
#include "runtime/inspect/goroutine_text.hpp"

#include <sley/detail/json_text.hpp>

#include <cstdio>
#include <utility>

namespace sley::debug {

using sley::detail::append_json_text;

namespace {

platform::frame_name frame_name_of(const code_line& line) {
  return {.function = line.linker_name, .file = line.file, .is_inlined = line.is_inlined};
}

}  // namespace

void json_objects::begin() {
  to_ += std::exchange(is_first_object_, false) ? "{" : ",\n{";
  is_first_member_ = true;
}

void json_objects::add(std::string_view name, std::uint64_t value) {
  begin_member(name);
  to_ += std::to_string(value);
}

void json_objects::add(std::string_view name, std::string_view value) {
  begin_member(name);
  append_json_text(to_, value);
}

void json_objects::add_texts(std::string_view name, std::span<const label> texts) {
  begin_member(name);
  to_ += '{';
  for (std::string_view before; const label& t : texts) {
    to_ += std::exchange(before, ",");
    append_json_text(to_, t.key);
    to_ += ':';
    append_json_text(to_, t.value);
  }
  to_ += '}';
}

void json_objects::add_address(std::string_view name, std::uintptr_t address) {
  begin_member(name);
  append_address(address);
}

void json_objects::add_addresses(std::string_view name, std::span<const std::uintptr_t> addresses) {
  begin_member(name);
  to_ += '[';
  for (std::string_view before; const std::uintptr_t address : addresses) {
    to_ += std::exchange(before, ",");
    append_address(address);
  }
  to_ += ']';
}

void json_objects::add_creator(std::string_view name, std::uintptr_t return_address) {
  for (const code_line& line : names_.of(return_address)) {
    if (!rt::is_creator(frame_name_of(line))) continue;
    begin_member(name);
    return append_function(line);
  }
}

void json_objects::add_stack(std::string_view name, std::span<const std::uintptr_t> frames) {
  begin_member(name);
  to_ += '[';
  bool is_first = true;
  for (const std::uintptr_t frame : frames) {
    for (const code_line& line : names_.of(frame)) {
      if (rt::is_glue(frame_name_of(line))) continue;
      if (!std::exchange(is_first, false)) to_ += ',';
      append_function(line);
    }
  }
  to_ += ']';
}

void json_objects::append_address(std::uintptr_t address) {
  char digits[2 + 2 * sizeof address + 1];
  std::snprintf(digits, sizeof digits, "0x%jx", static_cast<std::uintmax_t>(address));
  append_json_text(to_, digits);
}

void json_objects::begin_member(std::string_view name) {
  if (!std::exchange(is_first_member_, false)) to_ += ',';
  append_json_text(to_, name);
  to_ += ':';
}

void json_objects::append_function(const code_line& line) {
  to_ += "{\"function\":";
  append_json_text(to_, line.function);
  if (line.line != 0) {
    to_ += ",\"file\":";
    append_json_text(to_, line.file);
    to_ += ",\"line\":" + std::to_string(line.line);
  }
  to_ += '}';
}

}  // namespace sley::debug
