// Reads Prometheus' text format 0.0.4, and accepts nothing that the format does not have.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley_test {

// A line with a value.
struct sample {
  std::string name;                           // with a histogram's suffix
  std::map<std::string, std::string> labels;  // as they were before they were escaped
  double value = 0;
};

struct exposition {
  std::map<std::string, std::string> types;  // of each metric
  std::vector<sample> samples;

  // The value with these labels; a failure of the test if there is none.
  double value(std::string_view name, const std::map<std::string, std::string>& labels = {}) const;
  // Is there a value of that name?
  bool has(std::string_view name) const;
};

// Whatever is wrong with the text is a failure of the test. The promises that it asks for: each
// metric has its help and its type in front of its lines, which stay together; no line comes twice;
// a counter ends in _total, and is the only one that does; the lines of a histogram add up.
exposition parse_exposition(std::string_view text);

}  // namespace sley_test
