#include "inspect/report.hpp"

#include "debug/code_names.hpp"
#include "debug/profile_message.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/label_set.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace sley::inspect {

void print_dump(int fd, const std::vector<seen_goroutine>& all,
                const platform::symbol_source& names) {
  rt::goroutine_printer printer(fd, true, names);
  for (const seen_goroutine& g : all) printer.print(g.view, g.stack);
}

// ---- groups ----

namespace {

struct group {
  std::vector<std::uintptr_t> stack;  // as far as it is shown
  const seen_goroutine* first = nullptr;
  std::uint64_t count = 0;
  std::uint32_t minutes = 0;
};

// The largest first.
std::vector<group> groups_of(const std::vector<seen_goroutine>& all, debug::code_names& names) {
  using key =
      std::tuple<std::string_view, std::string_view, std::string_view, std::vector<std::uintptr_t>>;
  std::map<key, group> groups;
  for (const seen_goroutine& g : all) {
    std::vector<std::uintptr_t> stack = names.without_runtimes_own(g.stack);
    const rt::label_set* labels = g.view.labels;
    group& of = groups[{g.view.state, g.view.name(),
                        labels == nullptr ? std::string_view() : labels->whole(), stack}];
    if (of.count++ == 0) {
      of.first = &g;
      of.stack = std::move(stack);
    }
    of.minutes = std::max(of.minutes, g.view.minutes);
  }
  std::vector<group> sorted;
  for (auto& [_, g] : groups) sorted.push_back(std::move(g));
  std::ranges::sort(sorted, [](const group& a, const group& b) {
    return std::pair(b.count, a.first->view.id) < std::pair(a.count, b.first->view.id);
  });
  return sorted;
}

}  // namespace

std::string profile_of(const std::vector<seen_goroutine>& all,
                       const platform::symbol_source& names) {
  const debug::profile_unit unit = {"goroutine", "count"};
  debug::profile_message message({unit}, unit, 1, names);
  debug::code_names own(names);
  for (const group& g : groups_of(all, own)) {
    const std::array<std::uint64_t, 1> values = {g.count};
    message.add_sample(g.stack, values,
                       {{"state", g.first->view.state}, {"name", g.first->view.name()}},
                       rt::labels_in(g.first->view.labels));
  }
  return message.complete();
}

namespace {

// The innermost function that is the program's own; the innermost one, if none is known to be.
std::string function_of(const group& g, debug::code_names& names) {
  std::string innermost;
  for (const std::uintptr_t frame : g.stack) {
    for (const debug::code_line& l : names.of(frame)) {
      const bool is_librarys = l.function.starts_with("sley::") ||
                               l.file.find("/include/c++/") != std::string::npos ||
                               l.file.find("/include/sley/") != std::string::npos;
      if (!is_librarys) return l.function;
      if (innermost.empty()) innermost = l.function;
    }
  }
  return innermost.empty() ? "??" : innermost;
}

std::string name_and_labels(const rt::goroutine_view& g) {
  std::string text;
  const auto put = [&text](std::string_view piece) { text += piece; };
  rt::write_name(g, put);
  rt::write_labels(g, put);
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string table_of(const std::vector<seen_goroutine>& all, const platform::symbol_source& names,
                     std::size_t most_groups) {
  constexpr std::size_t count_width = 8;
  constexpr std::size_t state_width = 26;
  constexpr std::size_t minutes_width = 9;
  debug::code_names own(names);
  const std::vector<group> groups = groups_of(all, own);
  std::string table = std::to_string(all.size()) + " goroutines in " +
                      std::to_string(groups.size()) + " groups\n\n" + padded("COUNT", count_width) +
                      padded("STATE", state_width) + padded("MINUTES", minutes_width) +
                      "FUNCTION\n";
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups); ++i) {
    const group& g = groups[i];
    table += padded(std::to_string(g.count), count_width) +
             padded(std::string(g.first->view.state), state_width) +
             padded(std::to_string(g.minutes), minutes_width) + function_of(g, own) +
             name_and_labels(g.first->view) + '\n';
  }
  return table;
}

}  // namespace sley::inspect
