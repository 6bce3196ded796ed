// A WebSocket client's half of the protocol, byte by byte.
#pragma once

#include "support/connections.hpp"

#include <sley/net.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sley_test::websocket_client {

// What a client asks for in its header.
inline constexpr std::string_view upgrade =
    "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

// A client's frame: masked.
inline std::string frame(int first_byte, std::string_view payload) {
  std::string text = {static_cast<char>(first_byte)};
  if (payload.size() < 126) {
    text += static_cast<char>(0x80 | payload.size());
  } else if (payload.size() < 65'536) {
    text += {static_cast<char>(0xfe), static_cast<char>(payload.size() >> 8),
             static_cast<char>(payload.size())};
  } else {
    text += static_cast<char>(0xff);
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(payload.size() >> shift);
  }
  const char mask[] = {1, 2, 3, 4};
  text.append(mask, 4);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    text += static_cast<char>(payload[i] ^ mask[i % 4]);
  }
  return text;
}

inline constexpr int text_frame = 0x81, binary_frame = 0x82, close_frame = 0x88, ping_frame = 0x89,
                     pong_frame = 0x8a;

struct received {
  int first_byte;
  std::string payload;
};

inline received receive(const sley::net::tcp_stream& s) {
  const std::string head = read_exactly(s, 2);
  std::size_t size = static_cast<unsigned char>(head[1]);
  const std::size_t extended = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (extended > 0) {
    size = 0;
    for (const char c : read_exactly(s, extended)) size = size << 8 | static_cast<unsigned char>(c);
  }
  return {static_cast<unsigned char>(head[0]), read_exactly(s, size)};
}

}  // namespace sley_test::websocket_client
