// Whatever comes as gzip, what is made of it does not depend on how it is cut, and what is packed is
// unpacked to the same. Run by `./dev fuzz http_gzip SECONDS`.
#include "expect.hpp"
#include "http/gzip.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using sley::http::detail::gzip_packer;
using sley::http::detail::gzip_unpacker;
using sley_fuzz::expect;

constexpr std::size_t most_bytes = 256 << 10;  // of what is unpacked: a bomb takes too long

// All that comes out, and how it ended.
std::string unpack(std::string_view packed, std::size_t piece, std::size_t room) {
  gzip_unpacker unpacker;
  std::string text;
  std::vector<std::byte> buffer(room);
  while (text.size() < most_bytes) {  // ends: each round goes forward in one of the two
    std::error_code error;
    const std::string_view input = packed.substr(0, piece);
    const auto p = unpacker.unpack(input, buffer, error);
    expect(p.consumed <= input.size() && p.produced <= room, "no more than there is");
    expect(!error || p.produced == 0, "an error is told once all before it was handed out");
    text.append(reinterpret_cast<const char*>(buffer.data()), p.produced);
    packed.remove_prefix(p.consumed);
    if (error) return text + "|" + error.message();
    if (p.consumed == 0 && p.produced == 0) {
      if (packed.size() > piece) continue;
      return text + (unpacker.is_between_streams() ? "|end" : "|incomplete");
    }
  }
  return text.substr(0, most_bytes);
}

std::string pack(std::string_view text, std::size_t piece, int level) {
  gzip_packer packer(level);
  std::string packed;
  while (text.size() > piece) {
    packer.pack(text.substr(0, piece), gzip_packer::then::pause, packed);
    text.remove_prefix(piece);
  }
  packer.pack(text, gzip_packer::then::end, packed);
  return packed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::size_t room = data[1] + std::size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  sley_fuzz::expect_same(unpack(text, SIZE_MAX, most_bytes), unpack(text, piece, room), piece);
  const std::string packed = pack(text, piece * 16, 1 + data[0] % 9);
  expect(unpack(packed, piece, room) == std::string(text) + "|end", "it is the same text", text);
  return 0;
}
