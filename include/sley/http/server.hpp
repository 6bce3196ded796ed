// The server: takes connections, reads requests, calls the handler.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/router.hpp>
#include <sley/net.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http {

// What became of a request. The views are valid during the call.
struct access_record {
  net::endpoint remote;      // the peer
  std::string_view method;   // empty if the request was not understood
  std::string_view target;   // as it was sent
  int version;               // 10 or 11; 0 if the request was not understood
  int status;                // of the answer
  std::uint64_t body_bytes;  // of the response, as they were sent: packed, without chunks' sizes
  std::chrono::nanoseconds duration;  // from the request's last header byte to the answer's end
  // Empty if the connection took all of the answer. Else why it was cut: the error of writing,
  // or errc::incomplete if the handler left it unfinished. body_bytes counts the bytes sent before.
  std::error_code cut_by;
  // When the request's last header byte had come.
  std::chrono::system_clock::time_point time = {};
  // Of the trace that request::context() carries, if server_options::trace is set; else what came
  // with the request, if it is valid. Empty if there is none.
  std::string_view traceparent = {};
  // From the request's last header byte to the moment when the answer began to go out, or
  // `duration` if nothing of it was sent. The pace of the peer is no part of it, nor is the rest of
  // an answer that takes long by its nature, as a download or a WebSocket.
  std::chrono::nanoseconds time_to_first_byte = {};
};

// One line for a log, without its end; what would not stay in it is escaped.
//   192.0.2.1:50000 "GET /a?b" 200 5 0.123 ms
//   192.0.2.1:50000 "GET /a?b" 200 3 60001.000 ms cut: Connection timed out
// A request that was not understood has "-" between the quotes.
SLEY_API std::string to_line(const access_record& r);
// The same as an object of JSON in one line, without its end; here it takes several lines.
//   {"time":"2026-01-02T03:04:05.678901Z","remote":"192.0.2.1:50000","method":"GET",
//    "target":"/a?b","status":200,"bytes":5,"duration_us":123,"first_byte_us":118,
//    "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
// Without a trace there is no traceparent; an answer that was cut has "cut" with the
// reason. A request that was not understood has an empty method and target. Bytes that are not
// UTF-8, and characters that a terminal may obey, are escaped or replaced (U+FFFD).
SLEY_API std::string to_json(const access_record& r);

// Limits and hooks of a server.
struct server_options {
  std::size_t header_bytes = 64 << 10;  // more of a request's head: 431
  std::size_t target_bytes = 8 << 10;   // a longer target: 414
  std::uint64_t body_bytes = 10 << 20;  // more: 413; body_reader::set_limit has the last word
  // At once, at least 1; more wait. A listener that waits for its next connection holds one of
  // these places, so with several listeners there must be more places than listeners.
  std::size_t connections = 100'000;
  // Deadlines. The longer ones may pass up to an eighth late: moving a timer costs more than it
  // brings. Zero and the largest duration of any unit: none. Negative: passed at once.
  time_span header_timeout = std::chrono::seconds(10);  // for a head to be complete
  time_span idle_timeout = std::chrono::seconds(60);    // between two requests
  time_span read_timeout = std::chrono::seconds(60);    // for some of a body to come
  time_span write_timeout = std::chrono::seconds(60);   // for the peer to take some

  // For an idle connection to send one more request after shutdown(), and for a new one to send its
  // first. A longer time loses fewer requests of clients that are slow.
  time_span last_request_timeout = std::chrono::milliseconds(50);

  // How long a handler may take. Then its request::context() ends (deadline_exceeded), and if
  // nothing of an answer was sent, the client gets 503 at once and the connection closes: what the
  // handler has written is dropped, a read of the body under way and all later writes and reads
  // fail with std::errc::timed_out, and what it throws for that reason is no error of the server's.
  // An answer that has begun is the handler's to end: it may go on for as long as it takes. A
  // handler is never stopped. One that does not look at its context keeps its goroutine, and the
  // connection's place among `connections`, until it returns; shutdown() and the destructor wait
  // for it. A WebSocket has no limit once it was accepted, but a context that was asked for before.
  // Zero and the largest duration of any unit: no limit. From Go's http.TimeoutHandler.
  time_span handler_timeout = std::chrono::seconds(0);

  // The context of each request carries its trace (trace_in() of <sley/http/trace.hpp>): the one
  // that its traceparent header tells of, or one that begins here and is not sampled. The parent_id
  // is a new one, the server's own operation. Costs a call of getrandom(2).
  bool trace = false;

  // Makes the connection of an accepted stream, in the connection's goroutine; may wait, as for the
  // handshake of TLS: shutdown() and close() of the server end the stream then, so that the wait
  // fails. An exception closes the stream. Default: make_connection.
  std::function<connection_ptr(net::tcp_stream)> connect = {};
  // The same for the streams of a Unix listener.
  std::function<connection_ptr(net::unix_stream)> connect_unix = {};
  // After each answer, in the connection's goroutine.
  std::function<void(const access_record&)> access_log = {};
  // An exception left the handler; or one left `connect` or the log, or there was no memory, and
  // the connection is given up (then the request is null). Or an answer was cut because the peer
  // took nothing for write_timeout: std::system_error, std::errc::timed_out. Default: a line of the
  // library's log (<sley/log.hpp>), its control characters escaped. Not called for peers that have
  // gone.
  std::function<void(const request*, std::exception_ptr)> on_error = {};
};

namespace detail {
class server_state;
}

// Serves any number of listeners and connections. All functions may be called by any goroutine or
// thread at any time; the handler is called by many at once.
class SLEY_API server {
 public:
  // Serves nothing yet. A router is a handler.
  explicit server(handler h, server_options options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  // close(), then waits for the handlers that still run.
  ~server();

  // Takes connections until shutdown() or close(), which close the listener, then returns at once.
  // Throws std::system_error if accepting fails; std::logic_error for a Unix listener if the
  // options have `connect` and no `connect_unix`. Parks. From Go's http.Server.Serve.
  void serve(net::tcp_listener&& listener);
  void serve(net::tcp_listener& listener);
  void serve(net::unix_listener&& listener);
  void serve(net::unix_listener& listener);
  // Serves this one in the calling goroutine, until it is closed.
  void serve(connection_ptr one);

  // No more connections. A connection that has a request answers it and closes. So does an idle one
  // to which a request comes within last_request_timeout; without one it closes then. WebSockets
  // are closed with 1001: see websocket. Parks until all connections have ended, and returns true;
  // false at the deadline: call close(). From Go's http.Server.Shutdown.
  bool shutdown(instant deadline = time_point::max());
  // The same; false when the context ends first, or has ended before.
  bool shutdown(const context& ctx);
  // Closes everything at once; handlers that run get errors from their connection.
  void close();

  // How many connections there are now.
  std::size_t open_connections() const;

 private:
  std::shared_ptr<detail::server_state> state_;
};

}  // namespace sley::http
