// What a server and its connections share.
#pragma once

#include "http/session.hpp"

#include <sley/chan.hpp>
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

  void serve(net::tcp_listener& listener);
  // In the calling goroutine.
  void serve(connection_ptr c);
  bool shutdown(instant deadline);
  void close();
  void wait_for_all();
  std::size_t connections() const;

 private:
  bool add(net::tcp_listener& listener);
  void remove(net::tcp_listener& listener);
  bool accept_and_start(net::tcp_listener& listener);
  bool take_slot();
  void serve_stream(net::tcp_stream stream);
  connection_ptr connect(net::tcp_stream stream);
  void run_session(connection& c);
  void report(std::exception_ptr e);
  void stop_listening();
  // From begin() to end() a connection counts.
  void begin();
  void end() noexcept;
  // Closed once there is no connection.
  chan<void> when_empty();

  const handler handler_;
  const server_options options_;
  const chan<void> slots_;    // holds a signal for each connection that was accepted
  const chan<void> stopped_;  // closed by the first shutdown() or close()

  mutable mutex lock_;
  bool is_stopping_ = false;                          // [lock_] takes no connections any more
  bool is_closed_ = false;                            // [lock_] and has cut those there were
  std::size_t connections_ = 0;                       // [lock_]
  std::unordered_set<net::tcp_listener*> listeners_;  // [lock_]
  // [lock_] Of the streams that server_options::connect has.
  std::unordered_set<const sley::detail::interrupter*> connecting_;
  std::unordered_set<session*> sessions_;    // [lock_]
  std::vector<chan<void>> waiting_for_end_;  // [lock_]
};

}  // namespace sley::http::detail
