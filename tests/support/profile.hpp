// Reads profiles in pprof's format, so that tests can look into them without Go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sley_test {

struct profile_mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string file;
  std::string build_id;
  bool has_functions = false;
};

struct profile_sample {
  std::vector<std::uint64_t> addresses;  // innermost first
  std::vector<std::string> functions;    // innermost first, inlined ones too
  std::vector<std::uint64_t> values;
  std::map<std::string, std::string> labels;

  // Has the name of one of its functions these words?
  bool is_in(std::string_view function) const;
};

struct read_profile {
  std::vector<std::string> units;  // of the values: "samples/count"
  std::string period_unit;
  std::uint64_t period = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  std::vector<profile_mapping> mappings;
  std::vector<profile_sample> samples;

  // The sum of the samples' values, of the given place, in a function.
  std::uint64_t total_in(std::string_view function, std::size_t value = 0) const;
  // The sum of the first values of samples with this label.
  std::uint64_t total_with(const std::string& key, const std::string& label) const;
};

// Fails the test for bytes that are none, and for references to what is not there.
read_profile parse_profile(const std::string& bytes);

}  // namespace sley_test
