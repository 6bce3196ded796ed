// Goroutines at the same place taken together, as JSON for the live page and for programs.
#include "debug/code_names.hpp"
#include "debug/large_stack.hpp"
#include "platform/symbols.hpp"
#include "runtime/entry/snapshot.hpp"
#include "runtime/inspect/goroutine_text.hpp"

#include <sley/debug.hpp>
#include <sley/detail/json_text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sley::debug {

namespace {

using sley::detail::append_json_text;

// State, name, creator and stack.
using place_key =
    std::tuple<std::string_view, std::string_view, std::uintptr_t, std::vector<std::uintptr_t>>;

struct at_one_place {
  std::uint64_t count = 0;
  std::uint64_t first_id = UINT64_MAX;
  std::uint32_t minutes = 0;  // the longest wait
  rt::waited_object object;   // if all of them wait for one
};

using by_place = std::map<place_key, at_one_place>;

by_place all_places(const rt::snapshot& all, code_names& names) {
  by_place result;
  for (const auto* e = all.first(); e != nullptr; e = all.after(e)) {
    const rt::goroutine_view& g = e->goroutine;
    auto& of = result[{g.state, g.name(), g.created_at, names.without_runtimes_own(e->frames())}];
    if (of.count++ == 0) of.object = g.object;
    if (of.object != g.object) of.object = {};
    of.first_id = std::min(of.first_id, g.id);
    of.minutes = std::max(of.minutes, g.minutes);
  }
  return result;
}

platform::frame_name frame_name_of(const code_line& line) {
  return {.function = line.linker_name, .file = line.file, .is_inlined = line.is_inlined};
}

class json_of_groups {
 public:
  explicit json_of_groups(code_names& names) : names_(names) {}

  void begin(std::uint64_t goroutines, std::uint64_t groups) {
    text_ += "{\"goroutines\":" + std::to_string(goroutines);
    number("all_groups", groups);
    text_ += ",\"groups\":[";
  }
  void add(const by_place::value_type& one) {
    const auto& [state, name, created_at, stack] = one.first;
    const at_one_place& g = one.second;
    if (!std::exchange(is_first_, false)) text_ += ",\n";
    text_ += "{\"count\":" + std::to_string(g.count);
    member("state", state);
    if (!name.empty()) member("name", name);
    number("first_id", g.first_id);
    if (g.minutes != 0) number("minutes", g.minutes);
    if (g.object.address != nullptr) object(g.object);
    if (created_at != 0) creator(created_at);
    text_ += ",\"stack\":[";
    bool is_first = true;
    for (const std::uintptr_t frame : stack) {
      for (const code_line& line : names_.of(frame)) {
        if (rt::is_glue(frame_name_of(line))) continue;
        if (!std::exchange(is_first, false)) text_ += ',';
        code(line);
      }
    }
    text_ += "]}";
  }
  std::string end() { return std::move(text_) + "]}\n"; }

 private:
  void number(const char* name, std::uint64_t value) {
    text_.append(",\"").append(name).append("\":").append(std::to_string(value));
  }
  void member(const char* name, std::string_view value) {
    text_.append(",\"").append(name).append("\":");
    append_json_text(text_, value);
  }
  // The address as text, because numbers of JSON are exact up to 2^53 only.
  void object(const rt::waited_object& o) {
    const auto address = reinterpret_cast<std::uintptr_t>(o.address);
    char digits[2 + 2 * sizeof address + 1];
    std::snprintf(digits, sizeof digits, "0x%jx", static_cast<std::uintmax_t>(address));
    member("waits_for", digits);
    if (const platform::object_name of = platform::name_of_object(address); !of.name.empty()) {
      std::array<char, 4096> buffer;
      member("object", platform::demangle(of.name, buffer, true));
    }
    if (o.holder != 0) number("held_by", o.holder);
  }
  void code(const code_line& line) {
    text_ += "{\"function\":";
    append_json_text(text_, line.function);
    if (line.line != 0) {
      member("file", line.file);
      number("line", static_cast<std::uint64_t>(line.line));
    }
    text_ += '}';
  }
  // The innermost function that may be shown as the creator.
  void creator(std::uintptr_t created_at) {
    for (const code_line& line : names_.of(created_at)) {
      if (!rt::is_creator(frame_name_of(line))) continue;
      text_ += ",\"creator\":";
      return code(line);
    }
  }

  code_names& names_;
  bool is_first_ = true;
  std::string text_;
};

}  // namespace

std::string goroutines_json(std::size_t most_groups) {
  const rt::snapshot all;
  std::string text;
  on_large_stack([&] {
    code_names names;
    const by_place found = all_places(all, names);
    std::uint64_t goroutines = 0;
    std::vector<const by_place::value_type*> in_order;
    for (const auto& one : found) {
      goroutines += one.second.count;
      in_order.push_back(&one);
    }
    std::ranges::sort(in_order, [](const auto* a, const auto* b) {
      if (a->second.count != b->second.count) return a->second.count > b->second.count;
      return a->first < b->first;
    });
    json_of_groups json(names);
    json.begin(goroutines, in_order.size());
    in_order.resize(std::min(in_order.size(), most_groups));
    for (const auto* one : in_order) json.add(*one);
    text = json.end();
  });
  return text;
}

}  // namespace sley::debug
