#include "support/dump.hpp"

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace sley_test {

bool shown_goroutine::mentions(std::string_view text) const {
  return std::any_of(lines.begin(), lines.end(), [text](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

std::vector<shown_goroutine> goroutines_in(const std::string& dump) {
  std::vector<shown_goroutine> shown;
  bool inside = false;
  for (const std::string& line : lines_of(dump)) {
    const auto header = groups_of(line, "^goroutine ([0-9]+)[^[]*\\[([^]]*)][^:]*:$");
    if (!header.empty()) {
      shown.push_back({std::stoi(header[1]), line, header[2], {}});
      inside = true;
    } else if (line.empty()) {
      inside = false;
    } else if (inside) {
      shown.back().lines.push_back(line);
    }
  }
  return shown;
}

const shown_goroutine& find(const std::vector<shown_goroutine>& shown, std::string_view text) {
  for (const auto& g : shown) {
    if (g.header.find(text) != std::string::npos) return g;
  }
  ADD_FAILURE() << "no goroutine with " << text << " in its header";
  static const shown_goroutine none;
  return none;
}

void expect_frame(const shown_goroutine& g, const std::string& function, const std::string& file) {
  if (!has_line_numbers()) return;
  const std::string place = "\t/.*/" + file + ":[0-9]+ \\+0x[0-9a-f]+";
  for (std::size_t i = 0; i + 1 < g.lines.size(); ++i) {
    if (g.lines[i].find(function) != std::string::npos && g.lines[i][0] != '\t') {
      EXPECT_TRUE(matches(g.lines[i + 1], place)) << g.lines[i] << "\n" << g.lines[i + 1];
      return;
    }
  }
  ADD_FAILURE() << "no frame of " << function << " in " << g.header;
}

[[gnu::noinline]] void parks_here(const sley::chan<int>& c) {
  (void)c.receive();
  not_a_tail_call();
}

[[gnu::noinline]] void starts_one_here(const sley::go_options& options, const sley::chan<int>& c) {
  const auto started = std::make_shared<std::atomic<const void*>>(nullptr);
  sley::go(options, [c, started] {
    *started = current_goroutine();
    parks_here(c);
  });
  EXPECT_TRUE(eventually([&] { return *started != nullptr && is_parked(*started); }));
}

void allocate_for_ever() {
  for (;;) {
    std::vector<std::unique_ptr<std::string>> texts;
    for (std::size_t i = 0; i < 20; ++i)
      texts.push_back(std::make_unique<std::string>(i * 50, 'x'));
  }
}

}  // namespace sley_test
