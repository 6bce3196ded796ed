// The smallest program that needs the library for HTTP, and what that needs: it asks itself for a
// page that is sent with gzip.
#include <sley/http.hpp>
#include <sley/sley.hpp>

#include <cstdio>
#include <string>

int main() {
  return sley::run([] {
    sley::http::router routes;
    routes.use(sley::http::compress({.least_bytes = 1}));
    routes.get("/", [](sley::http::request&, sley::http::response& out) {
      out.send(200, "text/plain", "hello from the installed sley");
    });
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    const std::string url = "http://" + listener.local().to_string() + "/";
    sley::http::server server(routes);
    sley::wait_group served;
    served.go([&] { server.serve(std::move(listener)); });
    std::puts(sley::http::client().get(url).read_all().c_str());
    server.close();
    served.wait();
  });
}
