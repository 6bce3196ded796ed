#include "base/print.hpp"

#include <sley/detail/escape.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sley::base {

void write_all(int fd, std::string_view text) noexcept {
  const int saved = errno;
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // there is no other place to report this
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  errno = saved;
}

line_writer& line_writer::text(std::string_view s) noexcept {
  const std::size_t n = std::min(s.size(), sizeof(buffer_) - used_);
  std::memcpy(buffer_ + used_, s.data(), n);
  used_ += n;
  return *this;
}

line_writer& line_writer::long_text(std::string_view s, int fd) noexcept {
  for (;;) {
    const std::size_t room = sizeof(buffer_) - used_;
    text(s);
    if (s.size() <= room) return *this;
    s.remove_prefix(room);
    flush(fd);
  }
}

line_writer& line_writer::shown(std::string_view s) noexcept {
  detail::escape(s, [this](std::string_view piece) { text(piece); });
  return *this;
}

line_writer& line_writer::dec(std::int64_t v) noexcept {
  if (v >= 0) return dec(static_cast<std::uint64_t>(v));
  return text("-").dec(std::uint64_t{0} - static_cast<std::uint64_t>(v));
}

line_writer& line_writer::dec(std::uint64_t v) noexcept {
  char digits[20];
  std::size_t i = sizeof(digits);
  do {
    digits[--i] = static_cast<char>('0' + v % 10);
    v /= 10;
  } while (v != 0);
  return text({digits + i, sizeof(digits) - i});
}

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

line_writer& line_writer::hex(std::uint64_t v) noexcept {
  char digits[16];
  std::size_t i = sizeof(digits);
  do {
    digits[--i] = hex_digits[v % 16];
    v /= 16;
  } while (v != 0);
  return text("0x").text({digits + i, sizeof(digits) - i});
}

line_writer& line_writer::bytes(std::span<const std::byte> b) noexcept {
  for (const std::byte one : b) {
    const auto v = std::to_integer<std::size_t>(one);
    text(hex_digits.substr(v / 16, 1)).text(hex_digits.substr(v % 16, 1));
  }
  return *this;
}

void line_writer::flush(int fd) noexcept {
  write_all(fd, view());
  used_ = 0;
}

}  // namespace sley::base
