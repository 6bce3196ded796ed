// What a server and its connections share.
#pragma once

#include "http/session.hpp"

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/accepting.hpp>
#include <sley/detail/interrupter.hpp>
#include <sley/http/server.hpp>
#include <sley/net.hpp>
#include <sley/sync.hpp>

#include <cstddef>
#include <memory>
#include <unordered_set>
#include <vector>

namespace sley::http::detail {

class server_state : public std::enable_shared_from_this<server_state> {
 public:
  server_state(handler h, server_options options);

  template <class Listener>
  void serve(Listener& listener);
  // In the calling goroutine.
  void serve(connection_ptr c);
  void begin_shutdown();
  void close();
  // Closed once there is no connection.
  chan<void> when_empty();
  std::size_t connections() const;

 private:
  void check_connector(const net::tcp_listener&) const {}
  void check_connector(const net::unix_listener&) const;
  bool add(net::listener& listener);
  void remove(net::listener& listener);
  template <class Stream>
  void start(Stream stream, sley::detail::place taken);
  template <class Stream>
  void serve_stream(Stream stream);
  template <class Stream>
  connection_ptr connect(Stream stream);
  const std::function<connection_ptr(net::tcp_stream)>& connector_of(const net::tcp_stream&) {
    return options_.connect;
  }
  const std::function<connection_ptr(net::unix_stream)>& connector_of(const net::unix_stream&) {
    return options_.connect_unix;
  }
  void run_session(connection& c);
  void report(std::exception_ptr e);
  // No connection is taken from now on. Calls `how` for each session.
  void stop(void (session::*how)());
  // From begin() to end() a connection counts.
  void begin();
  void end() noexcept;

  const handler handler_;
  const server_options options_;
  const sley::detail::places_ptr places_;  // of connections, of all listeners
  context stopping_;                       // [const] ended by the first shutdown() or close()
  cancel_function stop_;                   // [const]

  mutable mutex lock_;
  bool is_stopping_ = false;                      // [lock_] takes no connections any more
  bool is_closed_ = false;                        // [lock_] and has cut those there were
  std::size_t connections_ = 0;                   // [lock_]
  std::unordered_set<net::listener*> listeners_;  // [lock_]
  // [lock_] Of the streams that server_options::connect and connect_unix have.
  std::unordered_set<const sley::detail::interrupter*> connecting_;
  std::unordered_set<session*> sessions_;    // [lock_]
  std::vector<chan<void>> waiting_for_end_;  // [lock_]
};

}  // namespace sley::http::detail
