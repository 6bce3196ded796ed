#include <sley/detail/io_object.hpp>

#include <sys/uio.h>

namespace sley::detail {

void io_object::set_deadline(time_point when) const {
  set_read_deadline(when);
  set_write_deadline(when);
}
void io_object::set_read_deadline(time_point when) const { descriptor_.set_read_deadline(when); }
void io_object::set_write_deadline(time_point when) const { descriptor_.set_write_deadline(when); }

void io_object::close() {
  throwing("sley: close", [this](std::error_code& e) { close(e); });
}
void io_object::close(std::error_code& error) noexcept {
  descriptor_.close(error, file_ == nullptr ? nullptr : file_->c_str());
}
io_object::~io_object() {
  std::error_code ignored;
  close(ignored);
}

std::size_t byte_object::read_some(std::span<std::byte> buffer) const {
  return throwing("sley: read", [&](std::error_code& e) { return read_some(buffer, e); });
}
std::size_t byte_object::read_some(std::span<std::byte> buffer,
                                   std::error_code& error) const noexcept {
  const iovec whole = {buffer.data(), buffer.size()};
  return read_some({&whole, 1}, error);
}
std::size_t byte_object::read_some(std::span<const iovec> buffers,
                                   std::error_code& error) const noexcept {
  return descriptor_.read_some(buffers, error);
}

namespace {

iovec one(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

std::size_t byte_object::write_some(std::span<const std::byte> bytes) const {
  return throwing("sley: write", [&](std::error_code& e) { return write_some(bytes, e); });
}
std::size_t byte_object::write_some(std::span<const std::byte> bytes,
                                    std::error_code& error) const noexcept {
  const iovec whole = one(bytes);
  return write_some({&whole, 1}, error);
}
std::size_t byte_object::write_some(std::span<const iovec> buffers,
                                    std::error_code& error) const noexcept {
  return descriptor_.write_some(buffers, error);
}

void byte_object::write_all(std::span<const std::byte> bytes) const {
  throwing("sley: write", [&](std::error_code& e) { return write_all(bytes, e); });
}
std::size_t byte_object::write_all(std::span<const std::byte> bytes,
                                   std::error_code& error) const noexcept {
  const iovec whole = one(bytes);
  return write_all({&whole, 1}, error);
}
std::size_t byte_object::write_all(std::span<const iovec> buffers,
                                   std::error_code& error) const noexcept {
  return descriptor_.write_all(buffers, error);
}

}  // namespace sley::detail
