#include "support/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sley_test {

namespace {

// The fields of one message: numbers, or bytes.
struct field {
  std::uint64_t id;
  std::uint64_t number;
  std::string_view bytes;
};

class reader {
 public:
  explicit reader(std::string_view bytes) : left_(bytes) {}

  bool is_at_end() const { return left_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_[0]);
      left_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ADD_FAILURE() << "a number without an end";
    left_ = {};
    return 0;
  }
  field next() {
    const std::uint64_t head = varint();
    field f{head >> 3, 0, {}};
    if ((head & 7) == 0) {
      f.number = varint();
    } else if ((head & 7) == 2) {
      const std::uint64_t size = varint();
      EXPECT_LE(size, left_.size());
      f.bytes = left_.substr(0, size);
      left_.remove_prefix(f.bytes.size());
    } else {
      ADD_FAILURE() << "a field of kind " << (head & 7);
      left_ = {};
    }
    return f;
  }

 private:
  std::string_view left_;
};

std::vector<field> fields_of(std::string_view message) {
  std::vector<field> all;
  for (reader r(message); !r.is_at_end();) all.push_back(r.next());
  return all;
}

std::vector<field> fields_of(std::string_view message, std::uint64_t id) {
  std::vector<field> all = fields_of(message);
  std::erase_if(all, [id](const field& f) { return f.id != id; });
  return all;
}

field the(std::string_view message, std::uint64_t id) {
  const std::vector<field> all = fields_of(message, id);
  EXPECT_LE(all.size(), 1u) << "field " << id;
  return all.empty() ? field{id, 0, {}} : all[0];
}

std::vector<std::uint64_t> numbers(std::string_view packed) {
  std::vector<std::uint64_t> all;
  for (reader r(packed); !r.is_at_end();) all.push_back(r.varint());
  return all;
}

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
