// A descriptor that no goroutine waits for.
#pragma once

#include <unistd.h>

#include <utility>

namespace sley::io {

// Owns it, and closes it.
class plain_fd {
 public:
  plain_fd() noexcept = default;
  explicit plain_fd(int fd) noexcept : fd_(fd) {}
  plain_fd(plain_fd&& other) noexcept : fd_(other.release()) {}
  plain_fd& operator=(plain_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~plain_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;  // -1: none
};

}  // namespace sley::io
