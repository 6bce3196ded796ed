// Reads a trace in the JSON of Chrome's trace events, as debug::trace writes it: an event in each
// line.
#pragma once

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley_test {

// One run of a goroutine on a processor.
struct traced_run {
  unsigned processor;
  double begin_us;
  double length_us;
  std::string name;
  std::string end;
  std::string started;
};

// Another event: an end of an arrow, or a note of the program.
struct traced_mark {
  std::string phase;
  unsigned processor;
  double us;
  std::string name;
  std::string id;
  std::string goroutine;
  std::string task;
};

// Where a trace is written; removed at the end.
class trace_path {
 public:
  const std::string& path() const { return path_; }

  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::vector<traced_run> runs() const {
    std::vector<traced_run> all;
    for (const std::string& line : lines("X")) all.push_back(parse_run(line));
    return all;
  }
  // The events of one phase, in the order of the file.
  std::vector<traced_mark> marks(const std::string& phase) const {
    std::vector<traced_mark> all;
    for (const std::string& line : lines(phase)) all.push_back(parse_mark(phase, line));
    return all;
  }
  bool has_lost_none() const { return text().find(R"("lost events":"0")") != std::string::npos; }

 private:
  std::vector<std::string> lines(const std::string& phase) const {
    std::ifstream in(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("{\"ph\":\"" + phase + "\"")) all.push_back(line);
    }
    return all;
  }

  static std::string field(const std::string& line, const std::string& key) {
    const std::size_t at = line.find("\"" + key + "\":");
    if (at == std::string::npos) return "(none)";
    std::size_t from = at + key.size() + 3;
    const bool is_text = line[from] == '"';
    if (is_text) ++from;
    return line.substr(from, line.find_first_of(is_text ? "\"" : ",}", from) - from);
  }

  static traced_run parse_run(const std::string& line) {
    return {.processor = static_cast<unsigned>(std::stoul(field(line, "tid"))),
            .begin_us = std::stod(field(line, "ts")),
            .length_us = std::stod(field(line, "dur")),
            .name = field(line, "name"),
            .end = field(line, "end"),
            .started = field(line, "started")};
  }
  static traced_mark parse_mark(const std::string& phase, const std::string& line) {
    return {.phase = phase,
            .processor = static_cast<unsigned>(std::stoul(field(line, "tid"))),
            .us = std::stod(field(line, "ts")),
            .name = field(line, "name"),
            .id = field(line, "id"),
            .goroutine = field(line, "goroutine"),
            .task = field(line, "task")};
  }

  temporary_folder folder_;
  std::string path_ = folder_ / "trace";
};

// The runs of goroutines whose name begins with this.
inline std::vector<traced_run> runs_of(const std::vector<traced_run>& all, std::string_view name) {
  std::vector<traced_run> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const traced_run& r) { return r.name.starts_with(name); });
  return some;
}

inline void expect_one_at_a_time(std::vector<traced_run> all) {
  // A counter in steps of tens of nanoseconds shows a short run as one of no length.
  std::ranges::sort(all, {},
                    [](const traced_run& r) { return std::pair(r.begin_us, r.length_us); });
  std::map<unsigned, double> free_at;
  for (const traced_run& r : all) {
    EXPECT_GE(r.length_us, 0);
    EXPECT_GE(r.begin_us, free_at[r.processor] - 0.01) << r.name;  // three decimals
    free_at[r.processor] = r.begin_us + r.length_us;
  }
}

}  // namespace sley_test
