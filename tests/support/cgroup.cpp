#include "support/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sley_test {

bool write_to_cgroup(const std::string& path, const char* file, const std::string& text) {
  const int fd = ::open((path + "/" + file).c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(fd) == 0 && written;
}

cgroup::cgroup(const char* controller, const limiter& limit) {
  static int number = 0;
  const std::string name =
      "/sley_test_" + std::to_string(::getpid()) + "_" + std::to_string(++number);
  const std::string root = "/sys/fs/cgroup";
  for (const std::string& parent : {root + "/" + controller, root}) {
    path_ = parent + name;
    if (::mkdir(path_.c_str(), 0755) != 0) continue;
    if (limit(path_)) return;
    ::rmdir(path_.c_str());
  }
  path_.clear();
}

cgroup::~cgroup() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

}  // namespace sley_test
