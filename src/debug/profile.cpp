// Profiles of what there is at one moment, for pprof and as text.
#include "base/print.hpp"
#include "debug/code_names.hpp"
#include "debug/goroutine_groups.hpp"
#include "debug/large_stack.hpp"
#include "debug/profile_message.hpp"

#include <sley/debug.hpp>
#include <sley/detail/escape.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace sley::debug {

namespace {

// ---- what is in them ----

// Go's names, which its tools know.
std::string_view name_of(profile_kind kind) {
  switch (kind) {
    case profile_kind::goroutine: return "goroutine";
    case profile_kind::thread_create: return "threadcreate";
  }
  throw std::invalid_argument("sley::debug::profile: no such kind of profile");
}

std::vector<named_group> groups_of(profile_kind kind) {
  if (kind == profile_kind::goroutine) return goroutines_by_name();
  return {{"", {runtime::read_stats().threads, "", {}}}};
}

// ---- as pprof's message ----

std::string message_of(std::string_view name, const std::vector<named_group>& groups) {
  const profile_unit unit = {name, "count"};
  profile_message message({unit}, unit, 1);
  for (const named_group& g : groups) {
    const std::array<std::uint64_t, 1> values = {g.group.count};
    message.add_sample(g.group.stack, values, {{"state", g.group.state}, {"name", g.name}});
  }
  return message.complete();
}

// ---- as text ----

std::string quoted(std::string_view text) {
  std::string result = "\"";
  sley::detail::escape(text, [&](std::string_view piece) {
    for (const char c : piece) result += c == '"' ? std::string("\\\"") : std::string(1, c);
  });
  return result + '"';
}

void append_labels(std::string& to, const named_group& g) {
  if (g.group.state.empty()) return;
  to += "# labels: {";
  if (!g.name.empty()) to += "\"name\":" + quoted(g.name) + ", ";
  to += "\"state\":" + quoted(g.group.state) + "}\n";
}

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

// From Go's printCountProfile.
std::string text_of(std::string_view name, const std::vector<named_group>& groups) {
  std::size_t total = 0;
  for (const named_group& g : groups) total += g.group.count;
  std::string text(name);
  text += " profile: total " + std::to_string(total) + '\n';
  code_names names;
  for (const named_group& g : groups) {
    text += std::to_string(g.group.count) + " @";
    for (const std::uintptr_t frame : g.group.stack) text += ' ' + hexadecimal(frame);
    if (g.group.stack.empty()) text += " 0x0";  // pprof refuses a line without an address
    text += '\n';
    append_labels(text, g);
    for (const std::uintptr_t frame : g.group.stack) append_frame(text, frame, names);
    text += '\n';
  }
  return text;
}

// Of the groups that there are now.
std::string made_by(std::string (*form)(std::string_view, const std::vector<named_group>&),
                    profile_kind kind) {
  const std::string_view name = name_of(kind);
  const std::vector<named_group> groups = groups_of(kind);
  std::string result;
  on_large_stack([&] { result = form(name, groups); });
  return result;
}

}  // namespace

// ---- the interface ----

std::string profile(profile_kind kind) { return made_by(&message_of, kind); }

std::string profile_text(profile_kind kind) { return made_by(&text_of, kind); }

std::string function_name(std::uintptr_t address) {
  std::string name;
  on_large_stack([&] {
    code_names names;
    // The last one is the real function; the others are inlined into it.
    for (const code_line& l : names.of(address + 1)) name = l.function;
  });
  return name;
}

}  // namespace sley::debug
