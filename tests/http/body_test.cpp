// What a body_reader makes of the reads of the class that implements it.
#include "support/harness.hpp"

#include <sley/http.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

using sley::http::errc;

namespace {

// Gives all it is asked for, and counts how often.
class plenty final : public sley::http::body_reader {
 public:
  plenty(std::size_t size, bool has_length) : left_(size) {
    if (has_length) length_ = size;
  }
  std::optional<std::uint64_t> length() const noexcept override { return length_; }
  void set_limit(std::uint64_t) noexcept override {}
  const sley::http::fields& trailers() const noexcept override { return none_; }

  int reads = 0;

 protected:
  std::size_t do_read(std::span<std::byte> buffer, std::error_code&) override {
    ++reads;
    const std::size_t n = std::min(buffer.size(), left_);
    std::memset(buffer.data(), 'x', n);
    left_ -= n;
    return n;
  }

 private:
  std::size_t left_;
  std::optional<std::uint64_t> length_;
  sley::http::fields none_;
};

}  // namespace

// The room grows with the bytes that have come.
GO_TEST(body, all_of_a_long_body_takes_few_reads) {
  constexpr std::size_t size = 4 << 20;
  for (const bool has_length : {false, true}) {
    plenty body(size, has_length);
    EXPECT_EQ(body.read_all(), std::string(size, 'x'));
    EXPECT_LT(body.reads, 20);
  }
}

GO_TEST(body, more_than_the_limit_is_an_error) {
  for (const bool has_length : {false, true}) {
    std::error_code error;
    EXPECT_EQ(plenty(10, has_length).read_all(10, error), "xxxxxxxxxx");
    EXPECT_FALSE(error);
    EXPECT_EQ(plenty(11, has_length).read_all(10, error), "");
    EXPECT_EQ(error, errc::body_too_large);
    EXPECT_THROW(plenty(11, has_length).read_all(10), std::system_error);
  }
}
