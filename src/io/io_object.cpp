#include <sley/byte_stream.hpp>

namespace sley {

void io_object::set_deadline(instant when) const {
  set_read_deadline(when);
  set_write_deadline(when);
}
void io_object::set_read_deadline(instant when) const { descriptor_.set_read_deadline(when); }
void io_object::set_write_deadline(instant when) const { descriptor_.set_write_deadline(when); }

void io_object::set_context(const context& ctx) const { descriptor_.set_context(ctx); }

void io_object::close() {
  detail::throwing("sley: close", [this](std::error_code& e) { close(e); });
}
void io_object::close(std::error_code& error) noexcept {
  descriptor_.close(error, file_ == nullptr ? nullptr : file_->c_str());
}
io_object::~io_object() {
  std::error_code ignored;
  close(ignored);
}

}  // namespace sley
