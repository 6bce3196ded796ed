#include "http/unpacked_body.hpp"

#include <sley/http/error.hpp>

#include <string_view>

namespace sley::http::detail {

std::uint64_t unpacked_body::packed_limit(std::uint64_t limit) noexcept {
  constexpr std::uint64_t least = 64 << 10;
  const std::uint64_t more = limit / 8 + least;
  return limit < UINT64_MAX - more ? limit + more : UINT64_MAX;
}

std::size_t unpacked_body::read(std::span<std::byte> buffer, std::error_code& error,
                                const incoming_body::source& packed) {
  error = error_;
  if (error || is_done_) return 0;
  // One byte more than is allowed tells whether there is more.
  const std::uint64_t allowed = limit_ > read_ ? limit_ - read_ : 0;
  if (allowed < buffer.size()) buffer = buffer.first(allowed + 1);
  const std::size_t n = unpack(buffer, error, packed);
  read_ += n;
  if (!error && n > allowed) error = errc::body_too_large;
  error_ = error;
  return error ? 0 : n;
}

std::size_t unpacked_body::unpack(std::span<std::byte> buffer, std::error_code& error,
                                  const incoming_body::source& packed) {
  for (;;) {  // ends: something comes out, or the input reaches its limit
    const std::string_view input(reinterpret_cast<const char*>(packed_.data()) + begin_,
                                 end_ - begin_);
    const gzip_unpacker::progress p = unpacker_.unpack(input, buffer, error);
    begin_ += p.consumed;
    if (error || p.produced > 0) return p.produced;
    begin_ = 0;
    end_ = packed(packed_, error);
    if (error) return 0;
    if (end_ == 0) {
      is_done_ = true;
      if (!unpacker_.is_between_streams()) error = errc::incomplete;
      return 0;
    }
  }
}

}  // namespace sley::http::detail
