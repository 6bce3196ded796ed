#include "support/profile.hpp"

#include "support/protobuf.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sley_test {

namespace {

struct parser {
  explicit parser(std::string_view bytes) : message(bytes) {
    for (const field& f : fields_of(message, 6)) texts.emplace_back(f.bytes);
    EXPECT_FALSE(texts.empty());
    EXPECT_EQ(text(0), "");
    for (const field& f : fields_of(message, 4)) locations[the(f.bytes, 1).number] = f.bytes;
    for (const field& f : fields_of(message, 5)) functions[the(f.bytes, 1).number] = f.bytes;
    for (const field& f : fields_of(message, 3)) ++mapping_ids[the(f.bytes, 1).number];
  }

  std::string text(std::uint64_t number) {
    EXPECT_LT(number, texts.size());
    return number < texts.size() ? texts[number] : std::string();
  }
  std::string unit(std::string_view value_type) {
    return text(the(value_type, 1).number) + '/' + text(the(value_type, 2).number);
  }

  profile_sample sample(std::string_view bytes) {
    profile_sample s;
    s.values = numbers(the(bytes, 2).bytes);
    for (const std::uint64_t id : numbers(the(bytes, 1).bytes)) add_location(id, s);
    for (const field& label : fields_of(bytes, 3)) {
      s.labels[text(the(label.bytes, 1).number)] = text(the(label.bytes, 2).number);
    }
    return s;
  }

  void add_location(std::uint64_t id, profile_sample& to) {
    EXPECT_TRUE(locations.contains(id)) << id;
    const std::string_view location = locations[id];
    const std::uint64_t mapping = the(location, 2).number;
    EXPECT_TRUE(mapping == 0 || mapping_ids[mapping] == 1) << mapping;
    to.addresses.push_back(the(location, 3).number);
    for (const field& line : fields_of(location, 4)) {
      const std::uint64_t function = the(line.bytes, 1).number;
      EXPECT_TRUE(functions.contains(function)) << function;
      to.functions.push_back(text(the(functions[function], 2).number));
    }
  }

  profile_mapping mapping(std::string_view bytes) {
    return {the(bytes, 2).number, the(bytes, 3).number, text(the(bytes, 5).number),
            text(the(bytes, 6).number), the(bytes, 7).number != 0};
  }

  std::string_view message;
  std::vector<std::string> texts;
  std::map<std::uint64_t, std::string_view> locations;
  std::map<std::uint64_t, std::string_view> functions;
  std::map<std::uint64_t, int> mapping_ids;
};

}  // namespace

bool profile_sample::is_in(std::string_view function) const {
  return std::ranges::any_of(functions,
                             [&](const std::string& f) { return f.find(function) != f.npos; });
}

std::uint64_t read_profile::total_in(std::string_view function, std::size_t value) const {
  std::uint64_t sum = 0;
  for (const profile_sample& s : samples) {
    if (s.is_in(function)) sum += s.values.at(value);
  }
  return sum;
}

std::uint64_t read_profile::total_with(const std::string& key, const std::string& label) const {
  std::uint64_t sum = 0;
  for (const profile_sample& s : samples) {
    const auto found = s.labels.find(key);
    if (found != s.labels.end() && found->second == label) sum += s.values.at(0);
  }
  return sum;
}

read_profile parse_profile(const std::string& bytes) {
  parser p(bytes);
  read_profile result;
  for (const field& f : fields_of(bytes, 1)) result.units.push_back(p.unit(f.bytes));
  for (const field& f : fields_of(bytes, 2)) {
    result.samples.push_back(p.sample(f.bytes));
    EXPECT_EQ(result.samples.back().values.size(), result.units.size());
  }
  for (const field& f : fields_of(bytes, 3)) result.mappings.push_back(p.mapping(f.bytes));
  result.period_unit = p.unit(the(bytes, 11).bytes);
  result.period = the(bytes, 12).number;
  result.time_ns = the(bytes, 9).number;
  result.duration_ns = the(bytes, 10).number;
  return result;
}

}  // namespace sley_test
