// Key/value server that speaks Redis's protocol (RESP): GET, SET, DEL, INCR, PING, COMMAND.
//
//   kv_server [ADDRESS]          "127.0.0.1:6379" unless given; try it with redis-cli
//
// A client may send many commands before it reads an answer (pipelining). One read takes as many as
// have come, and the answers gather until the server would have to wait for the next command: two
// system calls, however many commands.
#include "commands.hpp"

#include <sley/buffered.hpp>
#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>

namespace net = sley::net;

// What commands are read from: before it waits for the client, it sends the answers so far, because
// the client may be waiting for them.
struct answering_source {
  const net::tcp_stream& stream;
  sley::buffered_writer& answers;

  std::size_t read_some(std::span<std::byte> room, std::error_code& error) const {
    answers.flush(error);
    return error ? 0 : stream.read_some(room, error);
  }
};

void answer_commands(const net::tcp_stream& stream, store& values) {
  sley::buffered_writer out(stream, 16384);
  const answering_source source{stream, out};
  sley::buffered_reader in(source, {.buffer_bytes = 16384});
  try {
    for (words command; read_command(in, command);) {
      if (!command.empty()) out.write_all(values.answer(command));
    }
  } catch (const protocol_error& e) {
    out.write_all("-ERR " + std::string(e.what()) + "\r\n");
  }
  out.flush();
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    auto listener = net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:6379");
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    store values;
    net::serve(listener, ctx, [&](const net::tcp_stream& s) { answer_commands(s, values); });
    cancel();
  });
}
