#include "testing/schedule_text.hpp"

#include "platform/symbols.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sley::testing {

namespace {

using platform::simulated::journal;
using platform::simulated::most_sights;
using platform::simulated::sight;

constexpr std::size_t most_lines = 200;

// A place in the program and the operation of the library that it calls there.
struct place {
  std::string operation;
  std::string where;
  bool is_found = false;
};

// The folder of sley's own sources, as the compiler was given it.
std::string_view own_folder() noexcept {
  const std::string_view here = __FILE__;
  return here.substr(0, here.size() - std::string_view("testing/schedule_text.cpp").size());
}

bool is_librarys(const platform::frame_name& frame) noexcept {
  const auto is_in = [&](std::string_view folder) {
    return frame.file.find(folder) != std::string_view::npos;
  };
  if (is_in(own_folder()) || is_in("include/sley/") || is_in("include/c++/")) return true;
  constexpr std::array<std::string_view, 10> prefixes = {
      "_ZN4sley", "_ZNK4sley", "_ZZN4sley",     "_ZZNK4sley", "_ZNSt",
      "_ZNKSt",   "_ZSt",      "_ZN9__gnu_cxx", "_Unwind",    "sley_"};
  return std::ranges::any_of(prefixes,
                             [&](std::string_view p) { return frame.function.starts_with(p); });
}

// The name without arguments, template arguments included.
std::string short_name(std::string_view mangled) {
  std::array<char, 4096> buffer;
  const std::string_view full = platform::demangle(mangled, buffer, true);
  std::string name;
  int depth = 0;
  for (const char c : full) {
    if (c == '<') ++depth;
    if (c == '(' && depth == 0 && !name.empty()) break;
    if (depth == 0) name += c;
    if (c == '>') --depth;
  }
  return name;
}

void visit(void* arg, const platform::frame_name& frame) {
  place& p = *static_cast<place*>(arg);
  if (p.is_found || frame.function.empty()) return;
  if (is_librarys(frame)) {
    p.operation = short_name(frame.function);
    return;
  }
  p.is_found = true;
  const std::size_t slash = frame.file.rfind('/');
  p.where =
      std::string(slash == std::string_view::npos ? frame.file : frame.file.substr(slash + 1));
  if (frame.line != 0) p.where += ":" + std::to_string(frame.line);
  if (frame.function != "operator()") p.where += " (" + short_name(frame.function) + ")";
}

std::string describe(const sight& s) {
  place p;
  for (int i = 0; i < s.size && !p.is_found; ++i) platform::describe(s.frames[i], &visit, &p);
  return p.is_found ? p.where + "  " + p.operation : std::string();
}

}  // namespace

std::string schedule_text(const journal& j) {
  const std::uint64_t first = j.sight_count > most_sights ? j.sight_count - most_sights : 0;
  std::vector<std::string> lines;
  for (std::uint64_t i = first; i < j.sight_count; ++i) {
    const sight& s = j.sights[i % most_sights];
    const std::string where = describe(s);
    if (where.empty()) continue;  // it ends
    std::string line = "  goroutine " + std::to_string(s.goroutine) + "  " + where + "\n";
    if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
  }
  std::string text;
  const std::size_t from = lines.size() > most_lines ? lines.size() - most_lines : 0;
  if (from != 0 || first != 0) text += "  ...\n";
  for (std::size_t i = from; i < lines.size(); ++i) text += lines[i];
  return text;
}

}  // namespace sley::testing
