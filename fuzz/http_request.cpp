// Whatever bytes a client sends, the server answers with whole responses or ends the connection,
// and how the bytes are cut into reads makes no difference. Run by `./dev fuzz http_request
// SECONDS`.
#include "expect.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace {

void read_and_tell(sley::http::request& in, sley::http::response& out) {
  std::string text(in.method());
  text.append(in.path()).append(in.host());
  for (const auto& [name, value] : in.query_parameters()) text += name + '=' + value + '\n';
  for (const auto& f : in.headers()) text.append(f.name).append(f.value);
  text += in.body().read_all();
  for (const auto& f : in.body().trailers()) text.append(f.name).append(f.value);
  out.send(200, "text/plain", text);
}

void upgrade(sley::http::request& in, sley::http::response& out) {
  auto ws = sley::http::websocket::accept(in, out, {.message_bytes = 4096});
  std::error_code error;
  while (const auto m = ws.read(error)) ws.write_text(m->data, error);
}

sley::http::router routes() {
  sley::http::router r;
  r.use(sley::http::compress({.least_bytes = 64}));
  r.handle("", "/{path...}", read_and_tell);
  r.handle("", "/ws", upgrade);
  r.get("/a/{b}/c", [](sley::http::request& in, sley::http::response& out) {
    out.send(200, "", in.param("b"));
  });
  return r;
}

std::string serve(std::string_view text, std::size_t piece) {
  static sley::http::server server(
      routes(), {.header_bytes = 2048,
                 .target_bytes = 1024,
                 .body_bytes = 8192,
                 .on_error = [](const sley::http::request*, std::exception_ptr) {}});
  return sley_test::answers_of(server, text, piece);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = serve(text, SIZE_MAX);
  const std::string pieces = serve(text, piece);
  if (!whole.empty() && !whole.starts_with("HTTP/1.1 ")) std::abort();
  sley_fuzz::expect_same(whole, pieces, piece);
  return 0;
}
