// A file that is gone with the last descriptor of it.
#pragma once

#include <sley/os.hpp>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <unistd.h>

namespace sley_test {

inline sley::os::file temporary_file() {
  char path[] = "/tmp/sley-test-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "mkstemp");
  ::unlink(path);
  return sley::os::file(fd);
}

}  // namespace sley_test
