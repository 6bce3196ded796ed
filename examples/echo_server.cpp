// TCP echo server that stays up: a goroutine for each connection, and Ctrl-C ends them all.
//
//   echo_server [ADDRESS]        "127.0.0.1:7777" unless given; port 0 takes a free one
//
// A peer may reset its connection at any moment, and an exception that leaves a goroutine ends the
// process. So each connection's goroutine catches what happens to its own connection. A signal ends
// the context; the end of the context closes the listener and all connections, and the scope waits
// until their goroutines have ended.
#include <sley/net.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
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

void serve(net::tcp_stream accepted, const sley::context& ctx) {
  const auto stream = std::make_shared<net::tcp_stream>(std::move(accepted));
  const auto closing = sley::after_func(ctx, [stream] { stream->close(); });
  try {
    echo(*stream);
  } catch (const std::system_error& e) {  // the peer has reset the connection, for example
    if (!ctx.error()) std::fprintf(stderr, "echo_server: %s\n", e.what());
  }
  closing.stop();
}

void serve_all(net::tcp_listener listener, const sley::context& ctx) {
  sley::scope all(ctx);
  all.go([&] {
    all.context().done().receive();
    listener.close();
  });
  for (;;) {
    std::error_code error;
    net::tcp_stream stream = listener.accept(error);
    if (ctx.error()) return;  // here the scope waits for the connections
    if (error) throw std::system_error(error, "accept");
    all.go(
        [&all, stream = std::move(stream)]() mutable { serve(std::move(stream), all.context()); });
  }
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    auto listener = net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:7777");
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    serve_all(std::move(listener), ctx);
    std::puts("all connections have ended");
    cancel();
  });
}
