// Redis for goroutines, by hiredis: its format of commands, its reader and its replies, on streams
// of sley's, which park. Header-only; needs hiredis 0.14 or later, with its library linked
// (-lhiredis). The library does not need it.
//
//   auto c = sley::redis::connection::connect({.address = "127.0.0.1:6379"}, ctx);
//   c.command({"SET", "greeting", "hello"}, ctx);
//   const sley::redis::reply r = c.command({"GET", "greeting"}, ctx);
//   if (r->type == REDIS_REPLY_STRING) use(sley::redis::text(*r));
//
// A connection is for one goroutine at a time; a pool of them is for many. Any thread may use it.
//
// Errors. What the server answers with an error is an error_reply, and the connection goes on. What
// breaks the connection is a std::system_error: the stream's own errors, and besides
//   std::errc::connection_aborted  the server has closed in the middle
//   std::errc::protocol_error      what came is not Redis's protocol
//   std::errc::not_connected       it was never connected, or has failed before
//   context_errc                   the context has ended
// A context that ends in the middle of a command breaks the connection too: its answer is still to
// come, and the next command would take it for its own. One that has ended before sends nothing,
// and breaks nothing.
#pragma once

#include <sley/byte_stream.hpp>
#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/redis_session.hpp>
#include <sley/mutex.hpp>
#include <sley/pool.hpp>
#include <sley/time_span.hpp>

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::redis {

namespace detail {
struct feed;
}

// An answer, as hiredis has it: r->type, r->integer, r->element[i]. It may outlive its connection.
using reply = detail::reply_ptr;

// The text of a string, a status or an error, as long as the reply lives; empty for other types.
inline std::string_view text(const redisReply& r) noexcept {
  return r.str == nullptr ? std::string_view() : std::string_view(r.str, r.len);
}

// The server has answered with an error. what() names the command; its arguments, which may be
// secrets, are not in it.
class error_reply : public std::runtime_error {
 public:
  // Of a command's name, and what the server said.
  error_reply(std::string_view command, std::string_view said)
      : runtime_error("sley: redis: " + sley::detail::quoted(command) + ": " +
                      sley::detail::quoted(said)),
        said_(said) {}

  // What the server said: "WRONGTYPE Operation against a key holding the wrong kind of value".
  const std::string& said() const noexcept { return said_; }

 private:
  std::string said_;
};

// A command and its arguments, of any bytes: {"SET", key, value}. A view, for a parameter.
class words {
 public:
  // Views of all words; the first is the command.
  words(std::initializer_list<std::string_view> list) noexcept
      : words(std::span(list.begin(), list.size())) {}
  words(std::span<const std::string_view> list) noexcept : list_(list) {}

  // All of them.
  std::span<const std::string_view> get() const noexcept { return list_; }

 private:
  std::span<const std::string_view> list_;
};

// Commands that are sent together. A value; it can be run again.
class pipeline {
 public:
  // Throws std::invalid_argument as connection::command() does; nothing is added then.
  pipeline& add(words command);

  // The number of commands.
  std::size_t size() const noexcept { return size_; }
  // Takes all away.
  void clear() noexcept {
    bytes_.clear();
    size_ = 0;
  }

 private:
  friend class connection;

  std::string bytes_;
  std::size_t size_ = 0;
};

// Which server, and how it is greeted.
struct connect_options {
  // Host and port; or the path of a Unix socket, which begins with '/', '.' or '@'.
  std::string address = "127.0.0.1:6379";
  std::string user = {};      // empty: the server's default user
  std::string password = {};  // empty: no AUTH
  int database = 0;           // SELECT, if it is not 0
  // A pool sends PING to a connection that nothing has used for this long, before it hands it out.
  // It makes another one if there is no answer within the second time.
  time_span ping_after = std::chrono::seconds(1);
  time_span ping_limit = std::chrono::seconds(1);
};

// A connection to a server, by the protocol RESP2. Use by two goroutines at the same time is found:
// std::logic_error for the second. Moving and destroying are for its only user.
class connection {
 public:
  connection() noexcept = default;  // to nothing
  // Takes a connected stream of any kind: net::tcp_stream, net::unix_stream, net::tls_stream.
  // Nothing is sent.
  template <class Stream>
    requires(byte_source<Stream> && byte_sink<Stream>)
  explicit connection(Stream stream)
      : session_(std::make_unique<detail::session>(
            std::make_unique<detail::wire_of<Stream>>(std::move(stream)))) {}

  // Connects, and sends AUTH and SELECT as the options say. Parks. Throws std::system_error and
  // error_reply.
  static connection connect(const connect_options& options,
                            const context& ctx = context::background());

  // Sends the command, and parks until its answer has come. The first form throws, also an
  // error_reply. The second returns that as a reply of type REDIS_REPLY_ERROR, and a null reply
  // with an error.
  //
  // Both throw std::invalid_argument for what has no answer or more than one: no command, SUBSCRIBE
  // and its kind (see subscription), MONITOR, SYNC and its kind, CLIENT REPLY; and for HELLO, which
  // may change the protocol.
  reply command(words command, const context& ctx = context::background());
  reply command(words command, const context& ctx, std::error_code& error);

  // Sends all commands, and parks until all answers have come, in order. Error replies are among
  // them. A pipeline of any size is written and its answers are read at the same time. On an error
  // the first form throws it, and the second returns the answers that came before.
  std::vector<reply> run(const pipeline& commands, const context& ctx = context::background());
  std::vector<reply> run(const pipeline& commands, const context& ctx, std::error_code& error);

  // False if it was never connected, and once it has failed.
  bool is_open() const noexcept;

 private:
  friend class subscription;
  friend pool_options<connection> pooled(connect_options, pool_options<connection>);

  // Locked unless there is an error.
  std::unique_lock<mutex> begin(const context& ctx, std::error_code& error);
  bool is_healthy(const connect_options& options);

  std::unique_ptr<detail::session> session_;
};

// The options of a pool of connections: `make` and `check` are set, all else is as in `others`.
//
//   sley::pool<sley::redis::connection> connections(sley::redis::pooled({}, {.max = 8}));
//   connections.acquire(ctx)->command({"INCR", "visits"}, ctx);
//
// A connection that has failed is not handed out again, so there is nothing to discard. What a
// command has changed of the connection (MULTI, WATCH, SELECT) stays changed for the next user.
pool_options<connection> pooled(connect_options server, pool_options<connection> others = {});

// What was published.
struct message {
  std::string channel;  // where it was published
  std::string payload;  // what was published
  std::string pattern;  // that the channel has matched; empty for a channel subscribed to by name
};

// What to subscribe to.
struct subscribe_options {
  std::vector<std::string> channels = {};  // by name
  std::vector<std::string> patterns = {};  // as in "news.*"
  std::size_t capacity = 64;               // of the channel that the messages come from
};

// A connection that receives messages: SUBSCRIBE and PSUBSCRIBE as a channel. A goroutine reads
// for it. While the channel is full that goroutine waits, and the server keeps what is published
// until its own limit (client-output-buffer-limit), when it closes the connection. For one
// goroutine at a time; the channel is for any.
class subscription {
 public:
  // Takes the connection over. Parks until the server has confirmed everything. Throws
  // std::system_error, error_reply, and std::invalid_argument if there is nothing to subscribe to.
  subscription(connection source, const subscribe_options& what,
               const context& ctx = context::background());
  subscription(subscription&&) noexcept;
  subscription& operator=(subscription&& other) noexcept;
  ~subscription();  // as close()

  // Is closed when the subscription ends: by close(), or because the connection has failed.
  recv_chan<message> messages() const noexcept;
  // Why messages() was closed. None while it is open, and if close() has ended it.
  std::error_code error() const;
  // Ends it. Messages that wait in the channel can still be received.
  void close() noexcept;

 private:
  std::unique_ptr<detail::feed> feed_;
};

}  // namespace sley::redis

#include <sley/detail/redis_definitions.hpp>
