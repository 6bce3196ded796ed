// A control group, for children of a test to be limited in.
#pragma once

#include <functional>
#include <string>

namespace sley_test {

// Writes a text to a file of a cgroup. False if that is refused.
bool write_to_cgroup(const std::string& path, const char* file, const std::string& text);

// A cgroup of its own while it lives, of version 1 or 2, if this process may make one.
class cgroup {
 public:
  // Limits it, and says whether that has worked: the files have other names in the other version.
  using limiter = std::function<bool(const std::string& path)>;

  cgroup(const char* controller, const limiter& limit);
  ~cgroup();
  cgroup(const cgroup&) = delete;
  cgroup& operator=(const cgroup&) = delete;

  // Empty if there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sley_test
