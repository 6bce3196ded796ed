// What the fuzzers ask of an input: a claim that does not hold ends the process, so that libFuzzer
// keeps the input.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sley_fuzz {

inline void expect(bool holds, const char* claim, std::string_view of = {}) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n%.*s\n", claim, static_cast<int>(of.size()), of.data());
  std::abort();
}

inline void expect_same(const std::string& whole, const std::string& pieces, std::size_t piece) {
  if (whole == pieces) return;
  std::fprintf(stderr, "at once:\n%s\nin pieces of %zu:\n%s\n", whole.c_str(), piece,
               pieces.c_str());
  std::abort();
}

// An input in parts: each call takes what is before the next zero byte.
class parts {
 public:
  parts(const void* data, std::size_t size) : left_(static_cast<const char*>(data), size) {}

  std::string_view next() {
    const std::size_t end = left_.find('\0');
    const std::string_view part = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    return part;
  }
  std::string_view rest() const { return left_; }
  bool empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace sley_fuzz
