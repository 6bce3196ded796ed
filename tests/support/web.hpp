// A server for a test, and a client that sends exactly the bytes it is told to.
#pragma once

#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/http.hpp>
#include <sley/net.hpp>
#include <sley/sync.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace sley_test {

// A test may take longer than a server's usual deadlines, on a busy machine. A test that is about
// one of them sets it.
inline sley::http::server_options patient(sley::http::server_options options) {
  using sley::http::server_options;
  const server_options usual;
  for (const auto deadline : {&server_options::header_timeout, &server_options::idle_timeout,
                              &server_options::read_timeout, &server_options::write_timeout}) {
    if (options.*deadline == usual.*deadline) options.*deadline = sley::time_span::max();
  }
  return options;
}

// Serves on a port of its own until it is destroyed.
class running_server {
 public:
  explicit running_server(sley::http::handler h, sley::http::server_options options = {})
      : server(std::move(h), patient(std::move(options))) {
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    address = listener.local().to_string();
    serving_.go([this, l = std::move(listener)]() mutable { server.serve(l); });
  }
  ~running_server() {
    server.close();
    serving_.wait();
  }

  sley::net::tcp_stream connect() const { return sley::net::tcp_stream::connect(address); }

  // Sends it, ends the stream, and returns all that comes back.
  std::string exchange(std::string_view bytes) const {
    const sley::net::tcp_stream s = connect();
    std::error_code error;
    s.write_all(bytes_of(bytes), error);
    if (!error) s.shutdown_write(error);
    return read_to_end(s);
  }

  sley::http::server server;
  std::string address;

 private:
  sley::wait_group serving_;
};

// A GET of HTTP/1.1, with more header lines, each with its CR LF.
inline std::string get(std::string_view target, std::string_view more = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) + "\r\n";
}

inline std::string post(std::string_view headers, std::string_view body) {
  return "POST /p HTTP/1.1\r\nHost: test\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

// Handlers.
inline void hello(sley::http::request&, sley::http::response& out) {
  out.send(200, "text/plain", "hello");
}
inline void echo_body(sley::http::request& in, sley::http::response& out) {
  out.send(200, "text/plain", in.body().read_all());
}

// Up to the end of a head.
template <class Stream>
std::string read_head(const Stream& s) {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) head += read_exactly(s, 1);
  return head;
}

// An answer of `hello`, up to its end. Empty: the connection ended before the head.
template <class Stream>
std::string ask_for_hello(const Stream& s) {
  std::error_code error;
  s.write_all(bytes_of(get("/")), error);
  std::string answer;
  while (!error && !answer.ends_with("hello")) {
    char buffer[1024];
    const std::size_t n = s.read_some(std::as_writable_bytes(std::span(buffer)), error);
    if (n == 0) break;
    answer.append(buffer, n);
  }
  return answer;
}

// What an access log may be given.
inline sley::http::access_record example_record() {
  using namespace std::chrono_literals;
  return {.remote = sley::net::endpoint("192.0.2.1", 5000),
          .method = "GET",
          .target = "/a?b",
          .version = 11,
          .status = 200,
          .body_bytes = 5,
          .duration = 1'023'400ns,
          .cut_by = {},
          .time = std::chrono::system_clock::time_point(1'767'323'045s + 67'890us),
          .traceparent = {},
          .time_to_first_byte = 918'999ns};
}

inline int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(std::string(answer.substr(9, 3))) : 0;
}

inline std::string body_of(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string_view::npos ? "" : std::string(answer.substr(end + 4));
}

inline int count_of(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++n;
  }
  return n;
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The answer that says that it is the last. Empty: the connection ended without one.
template <class Stream>
std::string ask_until_the_last_answer(const Stream& s) {
  for (;;) {  // ends with the server
    const std::string answer = ask_for_hello(s);
    if (answer.empty() || has(answer, "Connection: close\r\n")) return answer;
  }
}

}  // namespace sley_test
