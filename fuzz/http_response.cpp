// Whatever bytes a server sends, the client takes them for an answer or fails, and how the bytes
// are cut into reads makes no difference. Run by `./dev fuzz http_response SECONDS`.
#include <sley/http.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// Gives out its text in pieces, then the end.
class memory_connection final : public sley::http::connection {
 public:
  memory_connection(std::string_view text, std::size_t piece) : text_(text), piece_(piece) {}

  std::size_t read_some(std::span<std::byte> buffer, std::error_code&) override {
    const std::size_t n = std::min({buffer.size(), text_.size(), piece_});
    if (n > 0) std::memcpy(buffer.data(), text_.data(), n);
    text_.remove_prefix(n);
    return n;
  }
  void write_all(std::span<const iovec>, std::error_code&) override {}
  void set_read_deadline(sley::time_point) override {}
  void set_write_deadline(sley::time_point) override {}
  void shutdown_write(std::error_code&) override {}
  void close() noexcept override {}
  sley::net::endpoint remote() const override { return {}; }
  sley::net::endpoint local() const override { return {}; }

 private:
  std::string_view text_;
  const std::size_t piece_;
};

// All that can be seen of the answer.
std::string ask(const char* method, std::string_view text, std::size_t piece) {
  sley::http::client client({.header_bytes = 2048,
                             .body_bytes = 8192,
                             .redirects = 2,
                             .idle_connections = 0,
                             .connect = [=](const sley::context&, const sley::http::url&) {
                               return std::make_unique<memory_connection>(text, piece);
                             }});
  std::error_code error;
  sley::http::client_response r = client.send({.method = method, .url = "http://host/a/b"}, error);
  if (error) return error.message();
  std::string seen = std::to_string(r.status()) + r.url().to_string();
  for (const auto& f : r.headers()) seen.append(f.name).append(f.value);
  seen += r.read_all(SIZE_MAX, error);
  if (error) return seen + error.message();
  for (const auto& f : r.trailers()) seen.append(f.name).append(f.value);
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] / 2 + std::size_t{1};
  const char* method = data[0] % 2 == 0 ? "GET" : "HEAD";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = ask(method, text, SIZE_MAX);
  const std::string pieces = ask(method, text, piece);
  if (whole != pieces) {
    std::fprintf(stderr, "at once:\n%s\nin pieces of %zu:\n%s\n", whole.c_str(), piece,
                 pieces.c_str());
    std::abort();
  }
  return 0;
}
