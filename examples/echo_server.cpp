// TCP echo server that stays up: a goroutine for each connection, and Ctrl-C ends them all.
//
//   echo_server [ADDRESS]        "127.0.0.1:7777" unless given; port 0 takes a free one
//
// `net::serve` takes connections until the context ends, and calls the handler for each in a
// goroutine of its own. A peer may reset its connection at any moment: the exception leaves the
// handler, is a line on stderr, and the others go on. A signal ends the context, which ends every
// wait, and serve() returns when all handlers have.
#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

namespace net = sley::net;

// Sends back what comes until the peer ends its stream.
void echo(const net::tcp_stream& stream) {
  std::array<std::byte, 16384> buffer;
  while (const std::size_t n = stream.read_some(buffer)) {
    stream.write_all(std::span(buffer).first(n));
  }
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    auto listener = net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:7777");
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    const net::serve_result end = net::serve(listener, ctx, echo);
    std::printf("%s connections, of which %s failed\n", std::to_string(end.accepted).c_str(),
                std::to_string(end.failed).c_str());
    cancel();
  });
}
