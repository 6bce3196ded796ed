// Output that never allocates, takes no lock and is safe in a signal handler. A line is assembled
// in a fixed buffer and written by one write(2). Text that does not fit is cut, except in
// long_text().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sley::base {

// As far as the descriptor takes it. Keeps errno.
void write_all(int fd, std::string_view text) noexcept;

class line_writer {
 public:
  line_writer& text(std::string_view s) noexcept;
  // Text of unknown origin: a byte that would not stay in its line, or that a terminal may obey, is
  // shown as "\x1b" or the like. <sley/detail/escape.hpp>.
  line_writer& shown(std::string_view s) noexcept;
  line_writer& dec(std::int64_t v) noexcept;
  line_writer& dec(std::uint64_t v) noexcept;
  line_writer& dec(int v) noexcept { return dec(std::int64_t{v}); }
  line_writer& dec(unsigned v) noexcept { return dec(std::uint64_t{v}); }
  line_writer& hex(std::uint64_t v) noexcept;
  // Two digits for each byte.
  line_writer& bytes(std::span<const std::byte> b) noexcept;

  std::string_view view() const noexcept { return {buffer_, used_}; }
  // A text of any length, of which nothing is cut: when the buffer is full, it is flushed.
  line_writer& long_text(std::string_view s, int fd) noexcept;
  // Writes the assembled text and empties the buffer. Keeps errno.
  void flush(int fd) noexcept;

 private:
  char buffer_[1024];
  std::size_t used_ = 0;
};

}  // namespace sley::base
