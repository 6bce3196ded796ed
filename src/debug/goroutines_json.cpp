// Goroutines at the same place taken together, as JSON for the live page and for programs.
#include "debug/code_names.hpp"
#include "debug/json_objects.hpp"
#include "debug/large_stack.hpp"
#include "platform/symbols.hpp"
#include "runtime/entry/snapshot.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/label_set.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sley::debug {

namespace {

// State, name, labels, creator and stack.
using place_key = std::tuple<std::string_view, std::string_view, std::vector<label>, std::uintptr_t,
                             std::vector<std::uintptr_t>>;

struct at_one_place {
  std::uint64_t count = 0;
  std::uint64_t first_id = UINT64_MAX;
  std::uint32_t minutes = 0;     // the longest wait
  rt::waited_objects waits_for;  // if it is the same for all of them
};

using by_place = std::map<place_key, at_one_place>;

by_place all_places(const rt::snapshot& all, code_names& names) {
  by_place result;
  for (const auto* e = all.first(); e != nullptr; e = all.after(e)) {
    const rt::goroutine_view& g = e->goroutine;
    const auto labels = rt::labels_in(g.labels);
    auto& of = result[{g.state,
                       g.name(),
                       {labels.begin(), labels.end()},
                       g.created_at,
                       names.without_runtimes_own(e->frames())}];
    if (of.count++ == 0) of.waits_for = g.waits_for;
    if (of.waits_for != g.waits_for) of.waits_for = {};
    of.first_id = std::min(of.first_id, g.id);
    of.minutes = std::max(of.minutes, g.minutes);
  }
  return result;
}

void append(json_objects& to, const by_place::value_type& one) {
  const auto& [state, name, labels, created_at, stack] = one.first;
  const at_one_place& g = one.second;
  to.begin();
  to.add("count", g.count);
  to.add("state", state);
  if (!name.empty()) to.add("name", name);
  if (!labels.empty()) to.add_texts("labels", labels);
  to.add("first_id", g.first_id);
  if (g.minutes != 0) to.add("minutes", g.minutes);
  if (g.waits_for.count > 1) to.add_addresses("waits_for_one_of", g.waits_for.addresses());
  if (g.waits_for.count == 1) {
    const std::uintptr_t address = g.waits_for.addresses().front();
    to.add_address("waits_for", address);
    if (const platform::object_name of = platform::name_of_object(address); !of.name.empty()) {
      std::array<char, 4096> buffer;
      to.add("object", platform::demangle(of.name, buffer, true));
    }
  }
  if (g.waits_for.holder != 0) to.add("held_by", g.waits_for.holder);
  if (created_at != 0) to.add_creator("creator", created_at);
  to.add_stack("stack", stack);
  to.end();
}

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
    text = "{\"goroutines\":" + std::to_string(goroutines) +
           ",\"all_groups\":" + std::to_string(in_order.size()) + ",\"groups\":[";
    in_order.resize(std::min(in_order.size(), most_groups));
    json_objects list(text, names);
    for (const auto* one : in_order) append(list, *one);
    text += "]}\n";
  });
  return text;
}

}  // namespace sley::debug
