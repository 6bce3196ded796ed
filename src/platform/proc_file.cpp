#include "platform/proc_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

std::string_view stat_after_name(const char* path, char* text, std::size_t size) noexcept {
  const std::string_view all(text, read_start(path, text, size));
  const std::size_t end = all.rfind(')');
  return end == std::string_view::npos || end + 2 > all.size() ? std::string_view()
                                                               : all.substr(end + 2);
}

}  // namespace sley::platform
