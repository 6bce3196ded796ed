// Whatever frames a client sends, the server answers with proper frames or closes, and how the
// bytes are cut into reads makes no difference. Run by `./dev fuzz http_websocket SECONDS`.
#include "expect.hpp"
#include "http/websocket_frame.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

namespace detail = sley::http::detail;
using sley_fuzz::expect;

constexpr std::size_t most_bytes = 4096;
constexpr std::string_view upgrade =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

void echo(sley::http::request& in, sley::http::response& out) {
  auto ws = sley::http::websocket::accept(in, out, {.message_bytes = most_bytes});
  std::error_code error;
  while (const auto m = ws.read(error)) {
    expect(m->data.size() <= most_bytes, "a message is no longer than the limit");
    expect(!m->is_text || detail::is_utf8(m->data), "text is UTF-8", m->data);
    if (m->is_text) {
      ws.write_text(m->data, error);
    } else {
      ws.write_binary(std::as_bytes(std::span(m->data)), error);
    }
  }
}

// All of it is whole frames of a server, the last of which closes.
void check_frames(std::string_view answer) {
  bool has_closed = false;
  while (!answer.empty()) {
    expect(!has_closed, "nothing comes behind a close frame", answer);
    expect(answer.size() >= 2, "a head is whole");
    const auto first = static_cast<unsigned char>(answer[0]);
    std::size_t size = static_cast<unsigned char>(answer[1]);
    expect((first & 0xf0) == 0x80 && size < 0x80, "a frame is whole, plain and not masked");
    std::size_t head = 2;
    if (size == 126) {
      expect(answer.size() >= 4, "a longer head is whole");
      size = static_cast<unsigned char>(answer[2]) * 256U + static_cast<unsigned char>(answer[3]);
      head = 4;
    }
    expect(size <= most_bytes && answer.size() >= head + size, "a frame is there to its end");
    has_closed = (first & 0x0f) == 8;
    answer.remove_prefix(head + size);
  }
}

// What is parsed is what a frame with the same head would be made of.
void check_head(std::string_view text) {
  detail::frame_head head;
  const auto parsed = detail::parse_frame_head(text, head);
  if (parsed.what != detail::frame_parse::result::done) return;
  expect(parsed.consumed <= text.size(), "a head is not longer than what there is");
  std::array<char, 10> buffer;
  const std::string_view made = detail::make_frame_head(buffer, head.what, head.size);
  expect(made.size() + head.mask.size() == parsed.consumed, "the length has its shortest form");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static sley::http::server server(
      echo, {.on_error = [](const sley::http::request*, std::exception_ptr) {}});
  const std::size_t piece = data[0] + std::size_t{1};
  const std::string_view frames(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_head(frames);
  const std::string text = std::string(upgrade).append(frames);
  const std::string whole = sley_test::answers_of(server, text, SIZE_MAX);
  sley_fuzz::expect_same(whole, sley_test::answers_of(server, text, piece), piece);
  const std::size_t end = whole.find("\r\n\r\n");
  expect(whole.starts_with("HTTP/1.1 101 ") && end != std::string::npos, "it is accepted", whole);
  check_frames(std::string_view(whole).substr(end + 4));
  return 0;
}
