// Peers that take little at a time, or nothing, and what a server says of its answers to them.
#pragma once

#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/http.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sley_test {

inline constexpr auto progress_limit = std::chrono::seconds(1);
// Than the limit, late_deadline's eighth included.
inline constexpr auto much_longer = std::chrono::milliseconds(3500);
inline constexpr std::size_t large_bytes = 10 << 20;

// Reads at an even pace, at which this number of bytes takes `much_longer`. Returns how many come
// before the end; an error is the end as well.
template <class Stream>
std::size_t read_slowly(const Stream& s, std::size_t bytes) {
  std::vector<std::byte> buffer(64 << 10);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t sum = 0;
  std::error_code error;
  for (;;) {
    const std::size_t n = s.read_some(buffer, error);
    if (n == 0 || error) return sum;
    sum += n;
    sley::this_goroutine::sleep_until(begin + much_longer * sum / bytes);
  }
}

inline sley::net::tcp_stream connect_with_little_room(const std::string& address) {
  auto s = sley::net::tcp_stream::connect(address);
  s.set_read_buffer(64 << 10);
  return s;
}

// Of random bytes, which gzip makes no smaller.
inline const std::string& large_text() {
  static const std::string text = [] {
    random_source random(1);
    std::string t(large_bytes, ' ');
    for (char& c : t) c = static_cast<char>(random());
    return t;
  }();
  return text;
}

// Gives the large text in the pieces that it is asked for.
inline sley::http::request_body large_source() {
  return [at = std::size_t(0)](std::span<std::byte> room) mutable {
    const std::size_t n = std::min(room.size(), large_bytes - at);
    std::ranges::copy(bytes_of(large_text()).subspan(at, n), room.begin());
    at += n;
    return n;
  };
}

inline constexpr std::string_view upgrade_fields =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

// The large text at once, in pieces, or as a message.
inline void send_large_text(sley::http::request& in, sley::http::response& out) {
  if (in.path() == "/websocket") {
    auto ws = sley::http::websocket::accept(in, out);
    ws.write_binary(bytes_of(large_text()));
    return;
  }
  if (in.path() == "/pieces") {
    for (std::size_t at = 0; at < large_bytes; at += 1 << 20) {
      out.write(std::string_view(large_text()).substr(at, 1 << 20));
    }
    return;
  }
  out.send(200, "text/plain", large_text());
}

// What a server says of its answers.
class answer_account {
 public:
  sley::http::server_options options() {
    sley::http::server_options o;
    o.write_timeout = std::chrono::milliseconds(50);
    o.access_log = [this](const sley::http::access_record& r) {
      const std::lock_guard guard(lock_);
      cut_by.push_back(r.cut_by);
      bytes.push_back(r.body_bytes);
      lines.push_back(sley::http::to_line(r));
    };
    o.on_error = [this](const sley::http::request* in, std::exception_ptr e) {
      const std::lock_guard guard(lock_);
      try {
        std::rethrow_exception(e);
      } catch (const std::system_error& known) {
        reported.push_back(known.code());
        EXPECT_NE(in, nullptr);
      } catch (const std::exception&) {
        reported.emplace_back();
      }
    };
    return o;
  }
  std::size_t size() const {
    const std::lock_guard guard(lock_);
    return lines.size();
  }

  mutable std::mutex lock_;
  std::vector<std::error_code> cut_by;
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> lines;
  std::vector<std::error_code> reported;
};

}  // namespace sley_test
