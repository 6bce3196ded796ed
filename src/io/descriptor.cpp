// A descriptor's life, its deadlines, and what holds no side.
#include <sley/detail/descriptor.hpp>

#include "io/perform.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>

namespace sley {

namespace io {

std::error_code error_of(rt::io_result result) noexcept {
  return std::make_error_code(result == rt::io_result::timed_out ? std::errc::timed_out
                                                                 : std::errc::operation_canceled);
}

namespace {

// The last time of the clock is rt::never.
void set_deadline(rt::watched* w, direction d, instant when) {
  if (w == nullptr) return;
  if (!w->is_polled) {
    detail::throw_io_error(std::make_error_code(std::errc::operation_not_supported),
                           "sley: deadline");
  }
  rt::enter();
  const bool is_set = rt::set_deadline(w, side_of(w, d), when.time_since_epoch().count());
  rt::leave();
  if (!is_set) throw std::bad_alloc();
}

}  // namespace

}  // namespace io

namespace detail {

void throw_io_error(const std::error_code& error, const char* operation) {
  throw std::system_error(error, operation);
}

// Nothing is duplicated and closed on the way: closing any descriptor of a file takes all record
// locks of the process on it (fcntl(2)).
descriptor::descriptor(int fd, io_kind kind, std::error_code& error) noexcept : kind_(kind) {
  int number = ENOMEM;
  rt::enter();
  if (kind != io_kind::regular) watched_ = rt::watch(fd, number);
  if (watched_ == nullptr && kind == io_kind::device && number == EPERM) kind_ = io_kind::regular;
  if (kind_ == io_kind::regular) watched_ = rt::hold(fd);
  rt::leave();
  if (watched_ != nullptr) return;
  if (kind != io_kind::borrowed) ::close(fd);
  error = io::system_error_of(number);
}

descriptor::~descriptor() {
  if (watched_ == nullptr) return;
  std::error_code ignored;
  close(ignored);
  rt::enter();
  rt::forget(watched_);
  rt::leave();
}

bool descriptor::is_open() const noexcept {
  return watched_ != nullptr && !watched_->is_closing.load_relaxed();
}

int descriptor::native_handle() const noexcept { return is_open() ? watched_->fd : -1; }

std::size_t descriptor::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                                std::error_code& error) const noexcept {
  return io::use(
      watched_,
      [=](int fd) {
        return platform::kernel::pread(fd, buffer.data(),
                                       std::min(buffer.size(), io::most_bytes_at_once),
                                       static_cast<off_t>(offset));
      },
      error);
}

std::size_t descriptor::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                                 std::error_code& error) const noexcept {
  return io::use(
      watched_,
      [=](int fd) {
        return platform::kernel::pwrite(fd, bytes.data(),
                                        std::min(bytes.size(), io::most_bytes_at_once),
                                        static_cast<off_t>(offset));
      },
      error);
}

void descriptor::set_read_deadline(instant when) const {
  io::set_deadline(watched_, io::direction::read, when);
}

void descriptor::set_write_deadline(instant when) const {
  io::set_deadline(watched_, io::direction::write, when);
}

void descriptor::close(std::error_code& error, const char* file) noexcept {
  error.clear();
  if (watched_ == nullptr) return;
  rt::enter();
  const bool is_ours = rt::unwatch(watched_);
  rt::leave();
  // An EINTR of close(2) has closed it all the same.
  if (!is_ours || kind_ == io_kind::borrowed) return;
  if (file != nullptr) blocking([file] { ::unlink(file); });
  const long result = io::attempt(::close, watched_->fd);
  if (result != -EINTR) io::is_success(result, error);
}

}  // namespace detail

}  // namespace sley
