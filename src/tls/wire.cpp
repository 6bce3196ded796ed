#include "tls/wire.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace sley::tls {

std::span<std::byte> wire::room() noexcept {
  if (input_ == nullptr) input_.reset(new (std::nothrow) std::byte[room_bytes]);
  return {input_.get(), input_ == nullptr ? 0 : room_bytes};
}

void wire::received(std::size_t bytes) noexcept {
  begin_ = 0;
  end_ = bytes;
}

int wire::read(BIO* bio, char* to, int size) {
  wire& w = *static_cast<wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t n = std::min(static_cast<std::size_t>(size), w.end_ - w.begin_);
  if (n > 0) {
    std::memcpy(to, w.input_.get() + w.begin_, n);
    w.begin_ += n;
    return static_cast<int>(n);
  }
  if (w.has_ended_) return 0;
  BIO_set_retry_read(bio);
  return -1;
}

int wire::write(BIO* bio, const char* from, int size) {
  wire& w = *static_cast<wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const auto* bytes = reinterpret_cast<const std::byte*>(from);
  try {
    w.output_.insert(w.output_.end(), bytes, bytes + size);
  } catch (const std::bad_alloc&) {
    return -1;  // no exception may pass through OpenSSL
  }
  return size;
}

long wire::control(BIO* bio, int command, long, void*) {
  const wire& w = *static_cast<const wire*>(BIO_get_data(bio));
  switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return w.has_ended_ && w.begin_ == w.end_ ? 1 : 0;
    default: return 0;
  }
}

BIO_METHOD* wire::make_method() noexcept {
  BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sley wire");
  if (m == nullptr) return nullptr;
  BIO_meth_set_read(m, &wire::read);
  BIO_meth_set_write(m, &wire::write);
  BIO_meth_set_ctrl(m, &wire::control);
  return m;
}

BIO* wire::make_bio() noexcept {
  // Never freed: goroutines may use it until the process ends.
  static BIO_METHOD* const method = make_method();
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace sley::tls
