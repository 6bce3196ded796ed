// How many requests a second does a server answer that has nothing to do? The row http_hello of
// SPEC.md, driven by wrk; the twin of go/httphello. At /websocket it takes WebSockets, for
// idle_connections.py.
//
// usage: http_hello [-addr host:port]
#include <sley/http.hpp>
#include <sley/sley.hpp>

#include <cstdio>
#include <string_view>
#include <system_error>

namespace {

void read_to_end(sley::http::websocket socket) {
  std::error_code error;
  while (socket.read(error)) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view address = "127.0.0.1:18080";
  if (argc == 3 && std::string_view(argv[1]) == "-addr") {
    address = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: http_hello [-addr host:port]\n");
    return 2;
  }
  return sley::run([&] {
    auto listener = sley::net::tcp_listener::listen(address);
    std::printf("listening addr=%s procs=%d\n", listener.local().to_string().c_str(),
                sley::runtime::max_procs());
    std::fflush(stdout);
    sley::http::server server([](sley::http::request& in, sley::http::response& out) {
      if (in.path() == "/websocket") {
        read_to_end(sley::http::websocket::accept(in, out));
        return;
      }
      out.headers().set("Content-Type", "text/plain");
      out.write("Hello, World!");
    });
    server.serve(listener);
  });
}
