// Hostile arguments of <sley/redis.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include <sley/redis.hpp>

#include <unistd.h>

#define SLEY_HOSTILE_HEADER hostile_redis

namespace net = sley::net;
namespace redis = sley::redis;
using sley_hostile::arguments;
using sley_hostile::use;

namespace {

constexpr std::string_view ok = "+OK\r\n";
// Of more subscriptions than any of these asks for at a time.
constexpr std::string_view confirmation =
    "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n";

// A server that says the same to everything that comes.
class parrot {
 public:
  explicit parrot(std::string_view answer) : answer_(answer) {
    running_.go([this] { accept_all(); });
  }
  ~parrot() {
    listener_.close();
    running_.wait();
  }
  const std::string& address() const { return address_; }

 private:
  void accept_all() {
    for (std::error_code error; !error;) {
      auto stream = std::make_shared<net::unix_stream>(listener_.accept(error));
      if (!error) running_.go([this, stream] { answer(*stream); });
    }
  }
  void answer(const net::unix_stream& stream) {
    std::error_code error;
    std::vector<std::byte> bytes(1 << 16);
    while (!error && stream.read_some(bytes, error) > 0) stream.write_all(answer_, error);
  }

  const std::string_view answer_;
  const std::string address_ = "@sley-hostile-redis-" + std::to_string(::getpid());
  net::unix_listener listener_ = net::unix_listener::listen(address_);
  sley::wait_group running_;
};

redis::connection connect_to(const parrot& server) {
  return redis::connection::connect({.address = server.address()});
}

std::vector<std::string_view> extreme_words(arguments& x) {
  std::vector<std::string_view> words = {x.text("GET"), x.text("key")};
  words.resize(x.pick<std::size_t>({2, 0, 1, 3, 70'000}));
  return words;
}

redis::connect_options extreme_options(arguments& x, const std::string& address) {
  redis::connect_options o{.address = address};
  const int which = x.pick<int>({0, 1, 2, 3, 4, 5});
  if (which == 1) o.user = x.string("user");
  if (which == 1 || which == 2) o.password = x.string("password");
  if (which == 3) o.database = x.number(1);
  if (which == 4) o.ping_after = x.duration();
  if (which == 5) {
    o.ping_after = std::chrono::seconds(0);
    o.ping_limit = x.duration();
  }
  return o;
}

}  // namespace

CALLS(error_reply, "redis::error_reply::error_reply(string_view command, string_view said)") {
  throw redis::error_reply(x.text("GET"), x.text("ERR no"));
}
CALLS(words, "redis::words::words(initializer_list<string_view> list)",
      "redis::words::words(span<string_view> list)",
      "redis::connection::command(words command, context ctx)") {
  const parrot server(ok);
  redis::connection c = connect_to(server);
  if (x.pick<bool>({false, true})) {
    c.command({x.text("GET"), x.text("key")});
  } else {
    const std::vector<std::string_view> words = extreme_words(x);
    c.command(std::span<const std::string_view>(words));
  }
}
CALLS(command_error, "redis::connection::command(words command, context ctx, error_code error)") {
  const parrot server(ok);
  redis::connection c = connect_to(server);
  const std::vector<std::string_view> words = extreme_words(x);
  c.command(std::span<const std::string_view>(words), {}, x.error());
}
CALLS(pipeline, "redis::pipeline::add(words command)") {
  redis::pipeline p;
  const std::vector<std::string_view> words = extreme_words(x);
  p.add(std::span<const std::string_view>(words));
  const parrot server(ok);
  use(connect_to(server).run(p));
}
CALLS(connect, "redis::connection::connect(connect_options options, context ctx)") {
  const parrot server(ok);
  use(redis::connection::connect(extreme_options(x, server.address())));
}
// No server is at any of these.
CALLS(connect_to_nothing, "redis::connection::connect(connect_options options, context ctx)") {
  use(redis::connection::connect({.address = "/" + x.string("no-socket")}));
}
CALLS(pooled, "redis::pooled(connect_options server, pool_options<connection> others)") {
  const parrot server(ok);
  sley::pool<redis::connection> pool(redis::pooled(extreme_options(x, server.address())));
  use(pool.acquire()->command({"GET", "key"}));
  use(pool.acquire()->command({"GET", "key"}));
}
CALLS(subscription,
      "redis::subscription::subscription(connection source, subscribe_options what, context ctx)") {
  const parrot server(confirmation);
  redis::subscribe_options what{.capacity = x.capacity(64)};
  if (x.pick<bool>({true, false})) what.channels.push_back(x.string("news"));
  if (x.pick<bool>({false, true})) what.patterns.push_back(x.string("n*"));
  use(redis::subscription(connect_to(server), what));
}
