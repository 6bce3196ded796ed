// A connection whose peer is a text, for tests and fuzzers of HTTP, and the answers of servers
// there.
#pragma once

#include <sley/http.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/uio.h>

namespace sley_test {

// Gives out its text in pieces, then the end; keeps the written bytes, if it has a place for them.
class memory_connection : public sley::http::connection {
 public:
  memory_connection(std::string_view text, std::size_t piece, std::string* written = nullptr)
      : text_(text), piece_(piece), written_(written) {}

  std::size_t read_some(std::span<std::byte> buffer, std::error_code&) override {
    const std::size_t n = std::min({buffer.size(), text_.size(), piece_});
    if (n > 0) std::memcpy(buffer.data(), text_.data(), n);
    text_.remove_prefix(n);
    return n;
  }
  void write_all(std::span<const iovec> buffers, std::error_code&) override {
    if (written_ == nullptr) return;
    for (const iovec& b : buffers) {
      written_->append(static_cast<const char*>(b.iov_base), b.iov_len);
    }
  }
  void set_read_deadline(sley::time_point) override {}
  void set_write_deadline(sley::time_point) override {}
  void shutdown_write(std::error_code&) override {}
  void close() noexcept override {}
  sley::net::endpoint remote() const override { return {}; }
  sley::net::endpoint local() const override { return {}; }

 private:
  std::string_view text_;
  const std::size_t piece_;
  std::string* const written_;
};

inline std::string without_dates(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    if (!line.starts_with("Date: ")) result += line;
    at = end;
  }
  return result;
}

// All that the server writes, but for what the clock says.
inline std::string answers_of(sley::http::server& server, std::string_view requests,
                              std::size_t piece) {
  std::string written;
  server.serve(std::make_unique<memory_connection>(requests, piece, &written));
  return without_dates(written);
}

}  // namespace sley_test
