// Whatever bytes a server sends, the client takes them for an answer or fails, and how the bytes
// are cut into reads makes no difference. Run by `./dev fuzz http_response SECONDS`.
#include "expect.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace {

// All that can be seen of the answer.
std::string ask(const char* method, std::string_view text, std::size_t piece) {
  sley::http::client client({.header_bytes = 2048,
                             .body_bytes = 8192,
                             .redirects = 2,
                             .idle_connections = 0,
                             .connect = [=](const sley::context&, const sley::http::url&) {
                               return std::make_unique<sley_test::memory_connection>(text, piece);
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
  sley_fuzz::expect_same(whole, pieces, piece);
  return 0;
}
