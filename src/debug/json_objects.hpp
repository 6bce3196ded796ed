// Lists of objects as JSON, with places in the program as members.
#pragma once

#include "debug/code_names.hpp"

#include <sley/debug.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sley::debug {

// Objects of the list, each begun and ended, with its members between. For a stack as that of
// on_large_stack(), because code has names.
class json_objects {
 public:
  json_objects(std::string& to, code_names& names) : to_(to), names_(names) {}

  void begin();
  void add(std::string_view name, std::uint64_t value);
  void add(std::string_view name, std::string_view value);
  // An object with a text for each key.
  void add_texts(std::string_view name, std::span<const label> texts);
  // As text, because numbers of JSON are exact up to 2^53 only.
  void add_address(std::string_view name, std::uintptr_t address);
  void add_addresses(std::string_view name, std::span<const std::uintptr_t> addresses);
  // The innermost function there that may be shown as a creator; no member if there is none.
  void add_creator(std::string_view name, std::uintptr_t return_address);
  // The functions that are shown, innermost first.
  void add_stack(std::string_view name, std::span<const std::uintptr_t> frames);
  void end() { to_ += '}'; }

 private:
  void begin_member(std::string_view name);
  void append_address(std::uintptr_t address);
  void append_function(const code_line& line);

  std::string& to_;
  code_names& names_;
  bool is_first_object_ = true;
  bool is_first_member_ = true;
};

}  // namespace sley::debug
