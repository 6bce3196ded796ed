#include <sley/http/body.hpp>

#include <sley/http/error.hpp>

#include <algorithm>

namespace sley::http {

body_reader::~body_reader() = default;

std::size_t body_reader::read_some(std::span<std::byte> buffer, std::error_code& error) {
  error.clear();
  return buffer.empty() ? 0 : do_read(buffer, error);
}

std::size_t body_reader::read_some(std::span<std::byte> buffer) {
  std::error_code error;
  const std::size_t n = read_some(buffer, error);
  if (error) throw std::system_error(error, "sley: read a body");
  return n;
}

// Grows with what came, not with what Content-Length promises: that costs the peer nothing to say.
std::string body_reader::read_all(std::size_t limit, std::error_code& error) {
  constexpr std::size_t first_room = 4096;
  constexpr std::size_t most_room = 1 << 20;
  std::string text;
  std::size_t done = 0;
  error.clear();
  if (length().has_value() && *length() > limit) {
    error = errc::body_too_large;
    do_fail(error);
    return text;
  }
  for (;;) {  // ends with the body, its limit or the connection
    std::size_t room = std::clamp<std::size_t>(done, first_room, most_room);
    // Behind the length that was announced one byte is enough to see the end.
    if (const auto all = length()) {
      room = std::min<std::size_t>(room, *all > done ? *all - done : 1);
    }
    text.resize(done + room);
    const auto bytes = std::as_writable_bytes(std::span(text)).subspan(done);
    const std::size_t n = read_some(bytes, error);
    done += n;
    if (done > limit) {
      error = errc::body_too_large;
      do_fail(error);
    }
    if (n == 0 || error) break;
  }
  text.resize(error ? 0 : done);
  return text;
}

std::string body_reader::read_all(std::size_t limit) {
  std::error_code error;
  std::string text = read_all(limit, error);
  if (error) throw std::system_error(error, "sley: read a body");
  return text;
}

}  // namespace sley::http
