#include "support/exposition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <regex>
#include <set>
#include <stdexcept>

namespace sley_test {

namespace {

// The lines of one metric, in their order.
struct family {
  std::string name;
  std::string type;
  std::vector<sample> samples;
};

double number(const std::string& text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  static const std::regex form("-?[0-9]+(\\.[0-9]+)?(e[+-][0-9]+)?");
  if (!std::regex_match(text, form)) throw std::runtime_error("no number: " + text);
  return std::stod(text);
}

std::string without_escapes(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c != '\\' && c != '"' && c != 'n') throw std::runtime_error("no escape: " + text);
    result += c == 'n' ? '\n' : c;
  }
  return result;
}

std::map<std::string, std::string> labels_in(std::string text) {
  static const std::regex form("([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\\]|\\\\.)*)\"(,|$)");
  std::map<std::string, std::string> labels;
  for (std::smatch m; !text.empty(); text = m.suffix()) {
    if (!std::regex_search(text, m, form, std::regex_constants::match_continuous)) {
      throw std::runtime_error("no label: " + text);
    }
    if (!labels.emplace(m[1], without_escapes(m[2])).second) {
      throw std::runtime_error("a label comes twice: " + text);
    }
  }
  return labels;
}

sample sample_in(const std::string& line) {
  static const std::regex form("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{([\\s\\S]+)\\})? (\\S+)");
  std::smatch m;
  if (!std::regex_match(line, m, form)) throw std::runtime_error("no line: " + line);
  return {m[1], labels_in(m[2]), number(m[3])};
}

bool belongs_to(const std::string& name, const family& f) {
  if (f.type != "histogram") return name == f.name;
  for (const char* suffix : {"_bucket", "_sum", "_count"}) {
    if (name == f.name + suffix) return true;
  }
  return false;
}

std::vector<family> families_in(std::string_view text) {
  static const std::regex help("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([\\s\\S]+)");
  static const std::regex type("# TYPE (\\S+) (counter|gauge|histogram)");
  std::vector<family> families;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) throw std::runtime_error("the last line has no end");
    const std::string line(text.substr(0, end));
    text.remove_prefix(end + 1);
    std::smatch m;
    if (std::regex_match(line, m, help)) {
      families.push_back({.name = m[1], .type = "", .samples = {}});
    } else if (families.empty()) {
      throw std::runtime_error("no help in front of: " + line);
    } else if (std::regex_match(line, m, type)) {
      family& f = families.back();
      if (m[1] != f.name || !f.type.empty()) throw std::runtime_error("not its type: " + line);
      f.type = m[2];
    } else {
      families.back().samples.push_back(sample_in(line));
    }
  }
  return families;
}

// One line for each bound, the last of which is infinity, then the sum, then the count.
void expect_histogram(const family& f) {
  double bound = -std::numeric_limits<double>::infinity();
  double count = 0;
  for (const sample& s : f.samples) {
    if (s.name == f.name + "_bucket") {
      const double next = number(s.labels.at("le"));
      EXPECT_GT(next, bound) << f.name;
      EXPECT_GE(s.value, count) << f.name;
      bound = next;
      count = s.value;
    } else if (s.name == f.name + "_count") {
      EXPECT_TRUE(std::isinf(bound)) << f.name;
      EXPECT_EQ(s.value, count) << f.name;
      bound = -std::numeric_limits<double>::infinity();
      count = 0;
    }
  }
  EXPECT_EQ(f.samples.back().name, f.name + "_count");
}

void expect_good(const family& f) {
  EXPECT_FALSE(f.type.empty()) << f.name;
  ASSERT_FALSE(f.samples.empty()) << f.name;
  EXPECT_EQ(f.name.ends_with("_total"), f.type == "counter") << f.name;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> known;
  for (const sample& s : f.samples) {
    EXPECT_TRUE(belongs_to(s.name, f)) << s.name << " among " << f.name;
    EXPECT_TRUE(known.emplace(s.name, s.labels).second) << s.name << " comes twice";
  }
  if (f.type == "histogram") expect_histogram(f);
}

}  // namespace

double exposition::value(std::string_view name,
                         const std::map<std::string, std::string>& labels) const {
  for (const sample& s : samples) {
    if (s.name == name && s.labels == labels) return s.value;
  }
  ADD_FAILURE() << "no " << name << " with these labels";
  return std::numeric_limits<double>::quiet_NaN();
}

bool exposition::has(std::string_view name) const {
  for (const sample& s : samples) {
    if (s.name == name) return true;
  }
  return false;
}

exposition parse_exposition(std::string_view text) {
  exposition result;
  try {
    for (family& f : families_in(text)) {
      EXPECT_TRUE(result.types.emplace(f.name, f.type).second) << f.name << " stands in two places";
      expect_good(f);
      for (sample& s : f.samples) result.samples.push_back(std::move(s));
    }
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  return result;
}

}  // namespace sley_test
