// A file without a name, in memory, for text that is written to a descriptor or to a path.
#pragma once

#include <sley/os.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>

namespace sley::debug {

class scratch_file {
 public:
  int descriptor() const noexcept { return file_.native_handle(); }
  // The path that this process opens it by.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor()); }

  std::string text() const {
    std::string all(file_.size(), '\0');
    const auto bytes = std::as_writable_bytes(std::span(all));
    for (std::size_t have = 0; have < bytes.size();) {  // ends: the file has this many bytes
      have += file_.read_at(bytes.subspan(have), have);
    }
    return all;
  }

 private:
  static int make() {
    const int fd = ::memfd_create("sley debug", MFD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::system_category(), "sley: memfd_create");
    return fd;
  }

  os::file file_{make()};
};

}  // namespace sley::debug
