#include "platform/proc_file.hpp"

#include "platform/os.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace sley::platform {

std::size_t read_start(const char* path, char* text, std::size_t size) noexcept {
  const int saved = errno;
  std::size_t used = 0;
  if (const int fd = open(path, O_RDONLY | O_CLOEXEC); fd >= 0) {
    const ssize_t n = read(fd, text, size);
    if (n > 0) used = static_cast<std::size_t>(n);
    close(fd);
  }
  errno = saved;
  return used;
}

std::string_view after_name(std::string_view stat) noexcept {
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 > stat.size() ? std::string_view()
                                                                : stat.substr(end + 2);
}

std::string_view stat_after_name(const char* path, char* text, std::size_t size) noexcept {
  return after_name({text, read_start(path, text, size)});
}

namespace {

// Reads the hexadecimal number after the text's last space, and cuts both off. False: there is
// none.
bool take_last_number(std::string_view& text, std::uint64_t& number) noexcept {
  const std::size_t space = text.rfind(" 0x");
  if (space == std::string_view::npos) return false;
  const std::string_view digits = text.substr(space + 3);
  text = text.substr(0, space);
  const char* const end = digits.data() + digits.size();
  return std::from_chars(digits.data(), end, number, 16).ec == std::errc();
}

}  // namespace

// "CALL 0xARGUMENT... 0xSP 0xPC\n" of a thread in a system call, "-1 0xSP 0xPC\n" of one that
// sleeps elsewhere in the kernel, and "running\n".
bool read_sleeping_place(const char* path, sleeping_place& at) noexcept {
  char text[256];
  std::string_view line(text, read_start(path, text, sizeof(text)));
  if (!take_last_number(line, at.pc) || !take_last_number(line, at.sp)) return false;
  return std::from_chars(line.data(), line.data() + line.size(), at.call).ec == std::errc();
}

}  // namespace sley::platform
