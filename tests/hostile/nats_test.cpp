// Hostile arguments of <sley/nats.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include <sley/buffered.hpp>
#include <sley/nats.hpp>
#include <sley/net.hpp>

#include <system_error>

#define SLEY_HOSTILE_HEADER hostile_nats

namespace net = sley::net;
namespace nats = sley::nats;
using sley_hostile::arguments;
using sley_hostile::use;

namespace {

// A server that sends an empty message to each subscription at once, and is otherwise silent.
class giver {
 public:
  giver() {
    running_.go([this] { accept_all(); });
  }
  ~giver() {
    listener_.close();
    running_.wait();
  }
  std::string url() const { return "nats://" + listener_.local().to_string(); }

 private:
  void accept_all() {
    for (std::error_code error; !error;) {
      auto stream = std::make_shared<net::tcp_stream>(listener_.accept(error));
      if (!error) running_.go([stream] { serve(*stream); });
    }
  }
  static void serve(net::tcp_stream& stream) {
    std::error_code error;
    stream.write_all(
        "INFO "
        "{\"server_id\":\"a\",\"version\":\"2.9.10\",\"headers\":true,\"max_payload\":65536}\r\n",
        error);
    sley::buffered_reader lines(stream);
    std::string line;
    while (!error && lines.read_line(line, error)) {
      if (line.starts_with("PING")) stream.write_all("PONG\r\n", error);
      if (line.starts_with("SUB ")) stream.write_all(message_to(line), error);
    }
  }
  // "SUB subject queue 7"
  static std::string message_to(std::string_view line) {
    const std::string_view subject = line.substr(4, line.find(' ', 4) - 4);
    std::string_view number = line.substr(line.rfind(' ') + 1);
    if (number.ends_with('\r')) number.remove_suffix(1);
    return "MSG " + std::string(subject) + ' ' + std::string(number) + " 0\r\n\r\n";
  }

  net::tcp_listener listener_ = net::tcp_listener::listen("127.0.0.1:0");
  sley::wait_group running_;
};

nats::connection connect_to(const giver& server) {
  return nats::connection::connect({.servers = {server.url()}});
}

nats::connect_options extreme_options(arguments& x, const giver& server) {
  nats::connect_options o{.servers = {server.url()}};
  const int which = x.pick<int>({0, 1, 2, 3, 4, 5});
  if (which == 1) o.servers = {"nats://127.0.0.1:" + x.string("1")};  // no look-up of a name
  if (which == 2) o.servers = {};
  if (which == 3) o.connect_limit = x.duration();
  if (which == 4) o.check_after = x.duration();
  if (which == 5) o.inbox_prefix = x.string("inbox");
  return o;
}

nats::subscribe_options extreme_subscription(arguments& x) {
  nats::subscribe_options o{.subject = x.string("a")};
  const int which = x.pick<int>({0, 1, 2, 3});
  if (which == 1) o.queue = x.string("q");
  if (which == 2) o.capacity = x.capacity(1);
  if (which == 3) o.pending = x.number<std::size_t>(1);
  return o;
}

}  // namespace

CALLS(error,
      "nats::error::error(error_code code, string_view operation, string_view subject, string_view "
      "said)") {
  // natsStatus has no room for the last two.
  const std::error_code code(x.pick<int>({NATS_TIMEOUT, 0, -1, 1'000'000}), nats::category());
  throw nats::error(code, "publish", x.text("a"), x.text("Timeout"));
}
CALLS(connect, "nats::connection::connect(connect_options options, context ctx)") {
  const giver server;
  use(nats::connection::connect(extreme_options(x, server)));
}
CALLS(publish, "nats::connection::publish(string_view subject, string_view data, context ctx)") {
  const giver server;
  connect_to(server).publish(x.text("a"), x.text("data"));
}
CALLS(publish_error,
      "nats::connection::publish(string_view subject, string_view data, context ctx, error_code "
      "error)") {
  const giver server;
  connect_to(server).publish(x.text("a"), x.text("data"), {}, x.error());
}
CALLS(request, "nats::connection::request(string_view subject, string_view data, context ctx)") {
  const giver server;
  use(connect_to(server).request(x.text("a"), x.text("data")));
}
CALLS(request_error,
      "nats::connection::request(string_view subject, string_view data, context ctx, error_code "
      "error)") {
  const giver server;
  use(connect_to(server).request(x.text("a"), x.text("data"), {}, x.error()));
}
CALLS(subscription,
      "nats::subscription::subscription(connection source, subscribe_options what, context ctx)") {
  const giver server;
  nats::connection c = connect_to(server);
  const nats::subscription s(c, extreme_subscription(x));
  use(s.messages().receive());
}
