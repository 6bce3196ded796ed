// A server that does to each connection what a test tells it to.
#pragma once

#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/web.hpp"

#include <sley/http.hpp>
#include <sley/net.hpp>
#include <sley/sync.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley_test {

class scripted_server {
 public:
  // Is called in a goroutine per connection with its number, from 1 on. When it returns or throws
  // std::system_error, the connection is closed.
  using script = std::function<void(int number, const sley::net::tcp_stream& stream)>;

  explicit scripted_server(script s)
      : script_(std::move(s)), listener_(sley::net::tcp_listener::listen("127.0.0.1:0")) {
    address = listener_.local().to_string();
    url = "http://" + address;
    running_.go([this] { serve(); });
  }
  ~scripted_server() {
    listener_.close();
    {
      const std::lock_guard guard(lock_);
      for (const auto& s : streams_) s->close();
    }
    running_.wait();
  }

  std::string address;
  std::string url;

 private:
  void serve() {
    for (int number = 1;; ++number) {  // ends when the listener is closed
      std::error_code error;
      auto s = std::make_shared<sley::net::tcp_stream>(listener_.accept(error));
      if (error) return;
      {
        const std::lock_guard guard(lock_);
        streams_.push_back(s);
      }
      running_.go([this, number, s] {
        try {
          script_(number, *s);
        } catch (const std::system_error&) {  // the client or the test has closed
        }
        s->close();
      });
    }
  }

  script script_;
  sley::net::tcp_listener listener_;
  sley::mutex lock_;
  std::vector<std::shared_ptr<sley::net::tcp_stream>> streams_;
  sley::wait_group running_;
};

// What a client's request looks like, up to its body. Its URL is a path.
inline std::string request_of(sley::http::client_request r) {
  std::string head;
  const scripted_server peer([&](int, const sley::net::tcp_stream& s) {
    head = read_head(s);
    s.write_all(bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  });
  r.url = peer.url + r.url;
  sley::http::client c;
  c.send(std::move(r)).read_all();
  return head;
}

}  // namespace sley_test
