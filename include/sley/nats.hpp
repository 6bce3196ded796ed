// NATS for goroutines, by libnats (nats.c): its protocol, its TLS and credentials, and its
// messages, on an event loop of sley's. Header-only; needs libnats 3.4 or later, with its library
// linked (-lnats). The library does not need it.
//
//   auto c = sley::nats::connection::connect({.servers = {"127.0.0.1:4222"}}, ctx);
//   c.publish("orders.new", "one", ctx);
//   const sley::nats::message m = c.request("price", "apples", ctx);
//   use(sley::nats::data(*m));
//   sley::nats::subscription s(c, {.subject = "orders.*", .queue = "workers"}, ctx);
//   for (const sley::nats::message& order : s.messages()) use(sley::nats::data(*order));
//
// A connection is for any goroutines and foreign threads at the same time, so there is no pool. It
// is one goroutine and two descriptors; no thread belongs to it or to a subscription. libnats has
// three threads of its own in each process that uses it, from the first connection on; connecting
// keeps one more for as long as it lasts. libnats ignores SIGPIPE for the process.
//
// Errors. What libnats or the server reports is a nats::error, or a std::error_code of
// nats::category() whose value is the natsStatus:
//   NATS_NO_SERVER, NATS_CONNECTION_AUTH_FAILED  connecting has failed
//   NATS_NO_RESPONDERS      nothing is subscribed to the subject of a request
//   NATS_NOT_PERMITTED      the server refuses to publish or to subscribe
//   NATS_CONNECTION_CLOSED  the connection was lost or closed, or there was none
// A context that ends is its context_errc, and breaks nothing. A lost connection is not made again.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/nats_session.hpp>
#include <sley/time_span.hpp>

#include <nats/nats.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sley::nats {

namespace detail {

struct feed;

// As messages name an operation: sley: nats: request "prices".
inline std::string named(std::string_view operation, std::string_view subject) {
  std::string text = "sley: nats";
  if (!operation.empty()) text += ": " + std::string(operation);
  if (!subject.empty()) text += ' ' + sley::detail::quoted(subject);
  return text;
}

}  // namespace detail

// Of numbers that are a natsStatus; message() is natsStatus_GetText()'s.
const std::error_category& category() noexcept;
// Compares equal to what is reported for this status; no error for NATS_OK.
inline std::error_code make_error_code(natsStatus status) noexcept {
  return {static_cast<int>(status), category()};
}

// libnats has failed, or the server has refused. what() names the operation and its subject, and
// never data or a server's address, which may have a password in it.
class error : public std::system_error {
 public:
  // Of an operation, its subject, which may be empty, and the words of the server or of libnats.
  error(std::error_code code, std::string_view operation, std::string_view subject,
        std::string_view said)
      : system_error(code, detail::named(operation, subject) + ": " + sley::detail::quoted(said)),
        said_(said) {}

  // These words: "Permissions Violation for Publish to "secret"".
  const std::string& said() const noexcept { return said_; }

 private:
  std::string said_;
};

// A message, as libnats has it, for its functions: natsMsgHeader_Get(m.get(), ...).
using message = detail::owned<natsMsg>;

// Its parts, as long as it lives. The reply subject is empty if no answer is wanted.
inline std::string_view subject(const natsMsg& m) noexcept { return natsMsg_GetSubject(&m); }
inline std::string_view reply_subject(const natsMsg& m) noexcept {
  const char* const reply = natsMsg_GetReply(&m);
  return reply == nullptr ? std::string_view() : std::string_view(reply);
}
inline std::string_view data(const natsMsg& m) noexcept {
  return {natsMsg_GetData(&m), static_cast<std::size_t>(natsMsg_GetDataLength(&m))};
}

// Which servers, and how they are connected to.
struct connect_options {
  // One after the other in an order by chance, until one accepts: "nats://user:password@host:4222".
  std::vector<std::string> servers = {"127.0.0.1:4222"};
  // How long each may take; libnats counts in milliseconds. The look-up of its name counts, and
  // takes as long as libc's does.
  time_span connect_limit = std::chrono::seconds(2);
  // A server that has sent nothing for this long is asked for a sign of life, and the connection is
  // lost if none has come after as long again. Not positive: never.
  time_span check_after = std::chrono::seconds(30);
  // Answers come to subjects that begin so; a user's permissions may ask for another one.
  std::string inbox_prefix = "_INBOX";
  // Sets libnats' other options, such as natsOptions_SetUserCredentialsFromFiles(); may be empty.
  // Options of reconnecting, pings, buffers, callbacks and the event loop are the connection's.
  std::function<void(natsOptions&)> adjust = {};
};

// A connection to a server. Any goroutines and foreign threads at the same time; moving and
// destroying are for its only user. A connection that has been moved from is one to nothing.
class connection {
 public:
  connection() noexcept = default;  // to nothing
  connection(connection&&) noexcept = default;
  connection& operator=(connection&& other) noexcept;
  ~connection() { close(); }

  // Connects, and parks until the server has answered. libnats does that on a thread. If the
  // context ends, the call returns at once; the thread ends after the limit for each server.
  // Throws nats::error, std::system_error for the context, and std::invalid_argument for a zero
  // byte or no server.
  static connection connect(const connect_options& options,
                            const context& ctx = context::background());

  // Hands the message to the connection, which sends it at once. Parks only while more than 1 MiB
  // waits to be sent. No error tells whether it has arrived: flush() and request() do. What the
  // server refuses is in last_refusal() then.
  //
  // Both forms throw std::invalid_argument for a subject that is empty or has blanks or control
  // characters, which the protocol would take for something else. The first form throws
  // nats::error, and std::system_error for the context.
  void publish(std::string_view subject, std::string_view data,
               const context& ctx = context::background());
  void publish(std::string_view subject, std::string_view data, const context& ctx,
               std::error_code& error);
  // The same for a message of libnats', which may have headers and a reply subject.
  void publish(const message& m, const context& ctx = context::background());
  void publish(const message& m, const context& ctx, std::error_code& error);

  // Publishes with a reply subject, and parks until the first answer has come. Throws as publish().
  // The second form returns no message with an error.
  message request(std::string_view subject, std::string_view data,
                  const context& ctx = context::background());
  message request(std::string_view subject, std::string_view data, const context& ctx,
                  std::error_code& error);

  // Parks until the server has handled all that was published before.
  void flush(const context& ctx = context::background());
  void flush(const context& ctx, std::error_code& error);

  // Ends the connection and all that waits for it: NATS_CONNECTION_CLOSED. Sends what the socket
  // takes at once; flush() before waits for the rest. Parks for the end of its goroutine. Any
  // number of times.
  void close() noexcept;

  // False if it was never connected, and once it was lost or closed.
  bool is_open() const noexcept;
  // What the server has refused last: "Permissions Violation for Publish to "secret"". Empty if
  // nothing was refused.
  std::string last_refusal() const;

 private:
  friend class subscription;
  explicit connection(std::shared_ptr<detail::session> s) noexcept : session_(std::move(s)) {}

  std::shared_ptr<detail::session> session_;
};

// What to subscribe to.
struct subscribe_options {
  std::string subject;        // may have wildcards: "orders.*", "orders.>"
  std::string queue = {};     // of several subscriptions with one queue, one gets each message
  std::size_t capacity = 64;  // of the channel that the messages come from
  // The most messages that wait for a place in the channel, at least 1. Later ones are dropped and
  // counted, as NATS has it: the other subscriptions of the connection do not wait for a slow one.
  std::size_t pending = 65'536;
};

// SUB as a channel. A goroutine fills it. For one goroutine at a time; the channel is for any. It
// may outlive its connection, which ends it.
class subscription {
 public:
  // Parks until the server has handled it. Throws nats::error, std::system_error for the context,
  // and std::invalid_argument as connection::publish() does. A refusal that comes together with
  // another one, or in the words of the one before, may end it a little later instead.
  subscription(connection& source, const subscribe_options& what,
               const context& ctx = context::background());
  subscription(subscription&&) noexcept;
  subscription& operator=(subscription&& other) noexcept;
  ~subscription();  // as close()

  // Is closed when the subscription ends. Messages that came before are received first, unless
  // close() has ended it.
  recv_chan<message> messages() const noexcept;
  // Why messages() was closed: none while it is open, and after close().
  std::error_code error() const;
  // The number of messages that were dropped because `pending` others were waiting.
  std::uint64_t dropped() const;

  // Ends it at once. Messages that are in the channel can still be received.
  void close() noexcept;

 private:
  std::unique_ptr<detail::feed> feed_;
};

}  // namespace sley::nats

#include <sley/detail/nats_definitions.hpp>
