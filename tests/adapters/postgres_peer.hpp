// A peer of <sley/postgres.hpp> that is no server: it says what a test tells it to.
#pragma once

#include "support/connections.hpp"

#include <sley/mutex.hpp>
#include <sley/net.hpp>
#include <sley/wait_group.hpp>

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley_test {

using namespace std::string_view_literals;

// What a server says. To a client that has connected: AuthenticationOk, and ReadyForQuery.
constexpr std::string_view postgres_greeting =
    "R\0\0\0\10\0\0\0\0"
    "Z\0\0\0\5I"sv;
// To a statement: ParseComplete, BindComplete, NoData, CommandComplete, and ReadyForQuery.
constexpr std::string_view postgres_done =
    "1\0\0\0\4"
    "2\0\0\0\4"
    "n\0\0\0\4"
    "C\0\0\0\7OK\0"
    "Z\0\0\0\5I"sv;

class postgres_peer {
 public:
  // Are called in a goroutine for each connection: with one that was greeted, and with one that has
  // brought a request to cancel. When they return, the connection is closed.
  using script = std::function<void(const sley::net::unix_stream&)>;

  explicit postgres_peer(script greeted, script cancel = {})
      : greeted_(std::move(greeted)), cancel_(std::move(cancel)) {
    running_.go([this] { accept_all(); });
  }
  ~postgres_peer() {
    listener_.close();
    {
      const std::lock_guard guard(lock_);
      for (const auto& s : streams_) s->close();
    }
    running_.wait();
  }
  postgres_peer(const postgres_peer&) = delete;
  postgres_peer& operator=(const postgres_peer&) = delete;

  std::string conninfo() const { return "user=a host=" + host_; }

 private:
  void accept_all() {
    while (true) {  // ends when the listener is closed
      std::error_code error;
      auto s = std::make_shared<sley::net::unix_stream>(listener_.accept(error));
      if (error) return;
      {
        const std::lock_guard guard(lock_);
        streams_.push_back(s);
      }
      running_.go([this, s] {
        try {
          serve(*s);
        } catch (const std::system_error&) {  // the client or the test has closed
        }
        s->close();
      });
    }
  }
  void serve(const sley::net::unix_stream& s) {
    const std::string head = read_exactly(s, 8);  // the packet's size, and what it is
    read_exactly(s, static_cast<unsigned char>(head[3]) - 8u);
    if (head.substr(4) == "\x04\xd2\x16\x2e") {  // a CancelRequest
      if (cancel_) cancel_(s);
    } else {
      s.write_all(postgres_greeting);
      greeted_(s);
    }
  }

  static std::string new_name() {
    static std::atomic<int> number = 0;
    return "@sley-postgres-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  }

  const script greeted_, cancel_;
  const std::string host_ = new_name();
  sley::net::unix_listener listener_ = sley::net::unix_listener::listen(host_ + "/.s.PGSQL.5432");
  sley::mutex lock_;
  std::vector<std::shared_ptr<sley::net::unix_stream>> streams_;
  sley::wait_group running_;
};

// Says that whatever comes is done, until the client closes.
inline void say_done(const sley::net::unix_stream& s) {
  std::vector<std::byte> bytes(1 << 16);
  while (s.read_some(bytes) > 0) s.write_all(postgres_done);
}

}  // namespace sley_test
