// Chat server: what one client writes, all of them read. Try it with `nc 127.0.0.1 7777`.
//
// A broker goroutine alone knows the members and hears from the others through channels, so there
// is no lock. Each client has a goroutine that reads its lines, and one that writes what lies in
// its outbox, a channel of 1000 lines. Nothing waits for a slow client: if its outbox is full, the
// client is cut off. A signal ends the context, and with it every wait.
#include <sley/buffered.hpp>
#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace net = sley::net;

struct client {
  std::string name;
  net::tcp_stream stream;
  sley::chan<std::string> outbox{1000};
};
using client_ptr = std::shared_ptr<client>;

struct room {
  sley::chan<client_ptr> entering, leaving;
  sley::chan<std::string> lines;
};

void run_broker(const room& r, const sley::context& ctx) {
  std::vector<client_ptr> members;
  const auto broadcast = [&](const std::string& line) {
    std::erase_if(members, [&](const client_ptr& c) {
      if (c->outbox.try_send(std::string(line)) == sley::chan_status::ok) return false;
      c->stream.abort();  // which ends its reader and its writer
      return true;
    });
  };
  while (!ctx.error()) {
    sley::select(sley::on_receive(r.entering, [&](auto c) { members.push_back(*c); }),
                 sley::on_receive(r.leaving, [&](auto c) { std::erase(members, *c); }),
                 sley::on_receive(r.lines, [&](auto line) { broadcast(*line); }),
                 sley::on_receive(ctx.done()));
  }
}

void read_lines(const client_ptr& c, const room& r, const sley::context& ctx) {
  try {
    r.entering.send(c, ctx);
    sley::buffered_reader in(c->stream, {.max_bytes = 1000});
    for (std::string line; in.read_line(line);) r.lines.send(c->name + ": " + line + "\n", ctx);
  } catch (const std::system_error&) {  // it has gone without a word, or its line is too long
  }
  std::error_code ended;  // then the broker has ended
  r.leaving.send(c, ctx, ended);
}

void serve(const client_ptr& c, const room& r, const sley::context& ctx) {
  sley::wait_group writer;
  writer.go([&] {
    std::error_code error;
    for (const std::string& line : c->outbox) c->stream.write_all(line, error);
  });
  read_lines(c, r, ctx);
  c->outbox.close();  // the writer ends when it is empty, and the client has 10 s for that
  c->stream.set_write_deadline(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  writer.wait();
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    auto listener = net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:7777");
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    const room everyone;
    sley::scope broker;
    broker.go([&] { run_broker(everyone, ctx); });
    std::atomic<int> number = 0;
    net::serve(listener, ctx, [&](net::tcp_stream stream, const sley::context& ended) {
      const std::string name = "guest" + std::to_string(++number);
      serve(std::make_shared<client>(name, std::move(stream)), everyone, ended);
    });
    cancel();
  });
}
