#include <sley/http/connection.hpp>

#include <utility>

#include <sys/uio.h>

namespace sley::http {

connection::~connection() = default;

namespace {

template <class Stream>
class stream_connection final : public connection {
 public:
  explicit stream_connection(Stream stream) : stream_(std::move(stream)) {}

  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) override {
    return stream_.read_some(buffer, error);
  }
  void write_all(std::span<const iovec> buffers, std::error_code& error) override {
    stream_.write_all(buffers, error);
  }
  void set_read_deadline(time_point when) override { stream_.set_read_deadline(when); }
  void set_write_deadline(time_point when) override { stream_.set_write_deadline(when); }
  void shutdown_write(std::error_code& error) override { stream_.shutdown_write(error); }
  void close() noexcept override {
    std::error_code ignored;
    stream_.close(ignored);
  }
  net::endpoint remote() const override { return stream_.remote(); }
  net::endpoint local() const override { return stream_.local(); }

 private:
  Stream stream_;
};

}  // namespace

connection_ptr make_connection(net::tcp_stream stream) {
  return std::make_unique<stream_connection<net::tcp_stream>>(std::move(stream));
}

connection_ptr make_connection(net::unix_stream stream) {
  return std::make_unique<stream_connection<net::unix_stream>>(std::move(stream));
}

}  // namespace sley::http
