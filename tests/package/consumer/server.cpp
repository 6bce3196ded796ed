// An HTTP server that says where it listens, and ends when its standard input does.
#include <sley/http.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <cstdio>
#include <string>

#include <unistd.h>

int main() {
  return sley::run([] {
    sley::http::router routes;
    routes.get("/", [](sley::http::request&, sley::http::response& out) {
      out.send(200, "text/plain", "hello from the installed sley");
    });
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    std::printf("http://%s/\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    sley::http::server server(routes);
    sley::wait_group served;
    served.go([&] { server.serve(std::move(listener)); });
    sley::os::file input(STDIN_FILENO);
    std::byte unused[1];
    while (input.read_some(unused) != 0) {
    }
    server.shutdown();
    served.wait();
  });
}
