// A net::stream, or a net::tls_stream, as what HTTP runs over.
#pragma once

#include <sley/context.hpp>
#include <sley/http/connection.hpp>
#include <sley/net.hpp>

#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

namespace sley::http::detail {

// Tells the kernel to keep at most 256 KiB of what a TCP peer has not taken yet. Without that it
// asks for more only when a third of its buffer of up to 4 MiB is free: a slow peer would take
// something all the time, and the writer would see no progress for minutes.
SLEY_API void notice_progress_early(int fd) noexcept;

template <class Stream, bool encrypted>
class stream_connection final : public connection {
 public:
  explicit stream_connection(Stream stream) noexcept : stream_(std::move(stream)) {
    notice_progress_early(stream_.native_handle());
  }

  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) override {
    return stream_.read_some(buffer, error);
  }
  void write_all(std::span<const iovec> buffers, std::error_code& error) override {
    stream_.write_all(buffers, error);
  }
  std::size_t write_some(std::span<const iovec> buffers, std::error_code& error) override {
    return stream_.write_some(buffers, error);
  }
  void set_read_deadline(time_point when) override { stream_.set_read_deadline(when); }
  void set_write_deadline(time_point when) override { stream_.set_write_deadline(when); }
  void set_context(const context& ctx) override { stream_.set_context(ctx); }
  void shutdown_write(std::error_code& error) override { stream_.shutdown_write(error); }
  void close() noexcept override {
    std::error_code ignored;
    stream_.close(ignored);
  }
  void abort() noexcept override { stream_.abort(); }
  net::endpoint remote() const override { return stream_.remote(); }
  net::endpoint local() const override { return stream_.local(); }
  bool is_encrypted() const noexcept override { return encrypted; }

 private:
  Stream stream_;
};

}  // namespace sley::http::detail
