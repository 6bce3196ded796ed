// TCP echo server that stays up: a goroutine for each connection, and Ctrl-C ends them all.
//
//   echo_server [ADDRESS]        "127.0.0.1:7777" unless given; port 0 takes a free one
//
// A peer may reset its connection at any moment, and an exception that leaves a goroutine ends the
// process. So each connection's goroutine catches what happens to its own connection. A signal ends
// the context, and the context ends every wait for the listener and for the connections. The scope
// waits until the goroutines have ended.
#include <sley/net.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <system_error>
#include <utility>

namespace net = sley::net;

// Sends back what comes until the peer ends its stream.
void echo(const net::tcp_stream& stream) {
  std::array<std::byte, 16384> buffer;
  while (const std::size_t n = stream.read_some(buffer)) {
    stream.write_all(std::span(buffer).first(n));
  }
}

void serve(const net::tcp_stream& stream, const sley::context& ctx) {
  try {
    stream.set_context(ctx);
    echo(stream);
  } catch (const std::system_error& e) {  // the peer has reset the connection, for example
    if (!ctx.error()) std::fprintf(stderr, "echo_server: %s\n", e.what());
  }
}

void serve_all(const net::tcp_listener& listener, const sley::context& ctx) {
  sley::scope all;
  for (std::error_code error; !error;) {  // until the context ends
    net::tcp_stream stream = listener.accept(ctx, error);
    if (!error) all.go([stream = std::move(stream), &ctx] { serve(stream, ctx); });
  }
}  // the scope waits here until all connections have ended

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    const auto listener = net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:7777");
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    serve_all(listener, ctx);
    std::puts("all connections have ended");
    cancel();
  });
}
