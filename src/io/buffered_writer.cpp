// Writing in large pieces what comes in small ones.
#include <sley/buffered.hpp>

#include <sley/log.hpp>

#include "base/print.hpp"

#include <algorithm>
#include <cstring>

namespace sley {

namespace {

constexpr std::size_t least_gathered = 16;

}  // namespace

std::size_t buffered_writer::write_all(std::span<const std::byte> bytes, std::error_code& error) {
  error.clear();
  std::size_t taken = 0;
  if (data_ == nullptr) {
    capacity_ = std::max(capacity_, least_gathered);
    data_.reset(new std::byte[capacity_]);
  }
  while (bytes.size() - taken >
         capacity_ - size_) {  // ends: each round takes bytes, or is the last
    const std::span<const std::byte> rest = bytes.subspan(taken);
    if (size_ == 0) {
      taken += pass_on(rest, error);
    } else {
      const std::size_t n = capacity_ - size_;
      keep(rest.first(n));
      taken += n;
      flush(error);
    }
    if (error) return taken;
  }
  keep(bytes.subspan(taken));
  return bytes.size();
}
void buffered_writer::write_all(std::span<const std::byte> bytes) {
  std::error_code error;
  write_all(bytes, error);
  if (error) fail(error, "write_all");
}

// Requires room for them.
void buffered_writer::keep(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  is_loss_known_ = false;
}

// Straight to the stream. Returns how many it has taken.
std::size_t buffered_writer::pass_on(std::span<const std::byte> bytes, std::error_code& error) {
  const std::size_t n = write_(stream_, bytes, error);
  position_ += n;
  is_loss_known_ = static_cast<bool>(error);
  return n;
}

void buffered_writer::flush(std::error_code& error) {
  error.clear();
  if (size_ == 0) return;
  const std::size_t n = pass_on({data_.get(), size_}, error);
  size_ -= n;
  if (size_ > 0) std::memmove(data_.get(), data_.get() + n, size_);
}
void buffered_writer::flush() {
  std::error_code error;
  flush(error);
  if (error) fail(error, "flush");
}

void buffered_writer::fail(const std::error_code& error, const char* operation) const {
  throw std::system_error(error, std::string("sley: ") + operation + " at byte " +
                                     std::to_string(position_) + ", " + std::to_string(size_) +
                                     " more are buffered");
}

buffered_writer::~buffered_writer() {
  if (size_ == 0 || is_loss_known_) return;
  std::error_code error;
  flush(error);
  if (!error) return;
  base::line_writer line;
  line.text("sley: a buffered_writer is destroyed with ").dec(std::uint64_t{size_});
  line.text(" bytes that can't be written: ").shown(error.message()).text("\n");
  detail::log_line(line.view());
}

}  // namespace sley
