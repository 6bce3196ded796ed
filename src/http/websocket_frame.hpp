// The frames of WebSocket, RFC 6455, 5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sley::http::detail {

enum class opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

constexpr bool is_control(opcode o) noexcept { return static_cast<unsigned>(o) >= 8; }

struct frame_head {
  bool is_last = true;  // of its message
  opcode what = opcode::text;
  std::uint64_t size = 0;  // of what follows
  std::array<std::uint8_t, 4> mask = {};
};

struct frame_parse {
  enum class result { done, need_more, malformed } what = result::need_more;
  std::size_t consumed = 0;
};
// A client's: masked, nothing extended, lengths in their shortest form.
frame_parse parse_frame_head(std::string_view input, frame_head& into) noexcept;

// A server's: not masked. Returns the part of the buffer that it fills.
std::string_view make_frame_head(std::array<char, 10>& buffer, opcode what,
                                 std::uint64_t size) noexcept;

// In place; `offset` bytes of the frame came before.
void unmask(std::span<char> bytes, const std::array<std::uint8_t, 4>& mask,
            std::uint64_t offset) noexcept;

bool is_utf8(std::string_view text) noexcept;

// What the server answers to a client's Sec-WebSocket-Key (RFC 6455, 4.2.2): 28 characters.
std::array<char, 28> accept_key(std::string_view key) noexcept;

}  // namespace sley::http::detail
