// A body that comes with gzip, undone.
#pragma once

#include "http/gzip.hpp"
#include "http/incoming_body.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

namespace sley::http::detail {

// What comes out has a limit: a few bytes can become many. An error stays.
class unpacked_body {
 public:
  explicit unpacked_body(std::uint64_t limit) noexcept : limit_(limit) {}

  // The most input for `limit` bytes of output. It is more than `limit`, because some text does not
  // get smaller.
  static std::uint64_t packed_limit(std::uint64_t limit) noexcept;

  // At least one byte; 0: the end, or an error. `packed` is where it comes from; 0 is its end.
  std::size_t read(std::span<std::byte> buffer, std::error_code& error,
                   const incoming_body::source& packed);
  void set_limit(std::uint64_t bytes) noexcept { limit_ = bytes; }
  void fail(const std::error_code& error) noexcept { error_ = error; }

 private:
  std::size_t unpack(std::span<std::byte> buffer, std::error_code& error,
                     const incoming_body::source& packed);

  gzip_unpacker unpacker_;
  std::array<std::byte, 8192> packed_;  // input not yet unpacked, from begin_ to end_
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t limit_;
  bool is_done_ = false;
  std::error_code error_;
};

}  // namespace sley::http::detail
