// What both fuzzers of HTTP ask of an input.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sley_fuzz {

inline void expect_same(const std::string& whole, const std::string& pieces, std::size_t piece) {
  if (whole == pieces) return;
  std::fprintf(stderr, "at once:\n%s\nin pieces of %zu:\n%s\n", whole.c_str(), piece,
               pieces.c_str());
  std::abort();
}

}  // namespace sley_fuzz
