#include "http/file_opener.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/runtime.hpp>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sley::http::detail {

namespace {

// O_NONBLOCK: opening a named pipe does not wait for its other end.
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// Links may lead around below the root, and nowhere else: openat2(2). -1 and errno.
long open_beneath(int root, const char* name) noexcept {
  open_how how = {};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return ::syscall(SYS_openat2, root, name, &how, sizeof how);
}

// Where the kernel has no openat2 (before 5.6) or a sandbox forbids it: no links at all.
int open_step_by_step(int root, const std::string& name) noexcept {
  int at = root;
  std::size_t begin = 0;
  for (;;) {  // ends with the name
    const std::size_t slash = name.find('/', begin);
    const bool is_last = slash == std::string::npos;
    const std::string component = name.substr(begin, is_last ? slash : slash - begin);
    const int next =
        ::openat(at, component.c_str(), flags | O_NOFOLLOW | (is_last ? 0 : O_DIRECTORY));
    if (at != root) ::close(at);
    if (is_last || next < 0) return next;
    at = next;
    begin = slash + 1;
  }
}

}  // namespace

opened_folder::~opened_folder() { ::close(fd_); }

int open_folder(std::string_view path) {
  std::error_code error;
  if (!sley::detail::has_zero_byte(path, error)) {
    const std::string name(path);
    const int fd = blocking([&] {
      const int result = ::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      error = {errno, std::system_category()};
      return result;
    });
    if (fd >= 0) return fd;
  }
  throw sley::detail::failed(error, "sley: serve files of", path);
}

namespace {

// open(2), openat2(2): the name leads to nothing, or to nothing that can be served.
bool means_not_there(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV:  // RESOLVE_BENEATH: outside
    case ENXIO:  // a socket, or a device that is not there
    case ENODEV: return true;
    default: return false;
  }
}

// The descriptor, or an error below 0.
int open_and_look(int root, const std::string& name, struct stat& status) {
  constexpr int most_tries = 10;
  long result = -1;
  int tries = 0;
  do {  // openat2(2): EAGAIN if a folder on the way was moved at that moment
    result = open_beneath(root, name.c_str());
  } while (result < 0 && (errno == EINTR || errno == EAGAIN) && ++tries < most_tries);
  if (result < 0 && (errno == ENOSYS || errno == EPERM)) result = open_step_by_step(root, name);
  if (result < 0) return -errno;
  const int fd = static_cast<int>(result);
  if (::fstat(fd, &status) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return -error;
}

}  // namespace

opened_file open_below(const opened_folder& root, const std::string& name, struct stat& status) {
  status = {};
  const int fd = blocking([&] { return open_and_look(root.fd(), name, status); });
  if (fd >= 0 && S_ISREG(status.st_mode)) return opened_file(fd);
  if (fd >= 0) ::close(fd);
  if (fd >= 0 || means_not_there(-fd)) return {};
  return opened_file(std::error_code(fd == -EPERM ? EACCES : -fd, std::system_category()));
}

}  // namespace sley::http::detail
