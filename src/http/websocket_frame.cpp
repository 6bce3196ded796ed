#include "http/websocket_frame.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace sley::http::detail {

namespace {

std::uint64_t big_endian(std::string_view bytes) noexcept {
  std::uint64_t n = 0;
  for (const char c : bytes) n = n << 8 | static_cast<unsigned char>(c);
  return n;
}

// FIPS 180-4, 6.1. Of no use for secrets; the protocol asks for it.
class sha1 {
 public:
  static std::array<std::uint8_t, 20> of(std::string text) noexcept {
    const std::uint64_t bits = 8 * text.size();
    text += '\x80';
    text.append((120 - text.size() % 64) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 255);
    sha1 s;
    for (std::size_t at = 0; at < text.size(); at += 64) s.add(text.data() + at);
    std::array<std::uint8_t, 20> result;
    for (std::size_t i = 0; i < 20; ++i) {
      result[i] = static_cast<std::uint8_t>(s.state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return result;
  }

 private:
  void add(const char* block) noexcept {
    std::uint32_t w[80];
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = static_cast<std::uint32_t>(big_endian({block + 4 * i, 4}));
    }
    for (std::size_t i = 16; i < 80; ++i) {
      w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    auto [a, b, c, d, e] = state_;
    for (std::size_t i = 0; i < 80; ++i) {
      const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                              : i < 40 ? b ^ c ^ d
                              : i < 60 ? (b & c) | (b & d) | (c & d)
                                       : b ^ c ^ d;
      static constexpr std::uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
      const std::uint32_t next = std::rotl(a, 5) + f + e + k[i / 20] + w[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    const std::array<std::uint32_t, 5> sum = {a, b, c, d, e};
    for (std::size_t i = 0; i < 5; ++i) state_[i] += sum[i];
  }

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                         0xc3d2e1f0};
};

}  // namespace

frame_parse parse_frame_head(std::string_view input, frame_head& into) noexcept {
  using enum frame_parse::result;
  if (input.size() < 2) return {need_more};
  const auto first = static_cast<unsigned char>(input[0]);
  const auto second = static_cast<unsigned char>(input[1]);
  into.is_last = (first & 0x80) != 0;
  into.what = static_cast<opcode>(first & 0x0f);
  const unsigned number = first & 0x0f;
  const bool is_known = number <= 2 || (number >= 8 && number <= 10);
  const bool is_masked = (second & 0x80) != 0;
  if ((first & 0x70) != 0 || !is_known || !is_masked) return {malformed};
  into.size = second & 0x7f;
  const std::size_t extended = into.size == 126 ? 2 : into.size == 127 ? 8 : 0;
  if (is_control(into.what) && (!into.is_last || extended > 0)) return {malformed};
  const std::size_t head = 2 + extended + into.mask.size();
  if (input.size() < head) return {need_more};
  if (extended > 0) {
    into.size = big_endian(input.substr(2, extended));
    const bool is_shortest = into.size > (extended == 2 ? 125 : 65'535);
    if (!is_shortest || into.size >> 63 != 0) return {malformed};
  }
  std::copy_n(input.data() + 2 + extended, into.mask.size(), into.mask.begin());
  return {done, head};
}

std::string_view make_frame_head(std::array<char, 10>& buffer, opcode what,
                                 std::uint64_t size) noexcept {
  buffer[0] = static_cast<char>(0x80 | static_cast<unsigned>(what));
  const std::size_t extended = size < 126 ? 0 : size < 65'536 ? 2 : 8;
  buffer[1] = static_cast<char>(extended == 0 ? size : extended == 2 ? 126 : 127);
  for (std::size_t i = 0; i < extended; ++i) {
    buffer[2 + i] = static_cast<char>(size >> (8 * (extended - 1 - i)) & 255);
  }
  return {buffer.data(), 2 + extended};
}

void unmask(std::span<char> bytes, const std::array<std::uint8_t, 4>& mask,
            std::uint64_t offset) noexcept {
  std::array<std::uint8_t, 4> turned;
  for (std::size_t i = 0; i < 4; ++i) turned[i] = mask[(offset + i) % 4];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ turned[i % 4]);
  }
}

// RFC 3629: the shortest form only, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || i + size > text.size()) return false;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (std::size_t j = 2; j < size; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0) != 0x80) return false;
    }
    i += size;
  }
  return true;
}

std::array<char, 28> accept_key(std::string_view key) noexcept {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto hash = sha1::of(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  std::array<char, 28> result;
  for (std::size_t i = 0; i < 27; ++i) {  // of six bits each; the last has only four
    const std::size_t bit = 6 * i;
    const unsigned high = hash[bit / 8];
    const unsigned low = bit / 8 + 1 < hash.size() ? hash[bit / 8 + 1] : 0;
    result[i] = digits[(high << 8 | low) >> (10 - bit % 8) & 63];
  }
  result[27] = '=';
  return result;
}

}  // namespace sley::http::detail
