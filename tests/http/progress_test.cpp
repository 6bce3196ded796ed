// The write limit of server and client is for the peer to take something: a slow peer that takes
// something all the time gets everything, one that takes nothing is cut, and the server says so.
//
// Each slow peer takes several times the limit for what it reads. They all read at the same time.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

using sley::http::access_record;
using sley::http::client;
using sley::http::request;
using sley::http::response;
using sley::http::server_options;
using sley::http::websocket;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::random_source;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

constexpr auto limit = 1s;
constexpr auto much_longer = 3500ms;  // than the limit, late_deadline's eighth included
constexpr std::size_t body_bytes = 10 << 20;

// Reads at an even pace, at which this number of bytes takes `much_longer`. Returns how many come
// before the end; an error is the end as well.
std::size_t read_slowly(const tcp_stream& s, std::size_t bytes) {
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

tcp_stream connect_with_little_room(const std::string& address) {
  tcp_stream s = tcp_stream::connect(address);
  s.set_read_buffer(64 << 10);
  return s;
}

// Of random bytes, which gzip makes no smaller.
const std::string& large_text() {
  static const std::string text = [] {
    random_source random(1);
    std::string t(body_bytes, ' ');
    for (char& c : t) c = static_cast<char>(random());
    return t;
  }();
  return text;
}

struct temporary_file {
  temporary_file() {
    char folder[] = "/tmp/sley_progress_XXXXXX";
    root = ::mkdtemp(folder);
    std::ofstream(root / "large", std::ios::binary) << large_text();
  }
  ~temporary_file() { std::filesystem::remove_all(root); }
  std::filesystem::path root;
};

void answer(request& in, response& out) {
  if (in.path() == "/websocket") {
    websocket ws = websocket::accept(in, out);
    ws.write_binary(bytes_of(large_text()));
    return;
  }
  if (in.path() == "/pieces") {
    for (std::size_t at = 0; at < body_bytes; at += 1 << 20) {
      out.write(std::string_view(large_text()).substr(at, 1 << 20));
    }
    return;
  }
  out.send(200, "text/plain", large_text());
}

constexpr std::string_view upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

}  // namespace

GO_TEST(progress, a_slow_client_gets_all_of_an_answer) {
  const temporary_file files;
  sley::http::router routes;
  routes.get("/packed", sley::http::compress()(&answer));
  routes.get("/files/{path...}", sley::http::file_server(files.root.string()));
  routes.get("/{path...}", &answer);
  const running_server web(routes, {.write_timeout = limit});
  sley::wait_group group;
  const auto expect_all = [&](std::string_view target, std::string_view more) {
    group.go([&web, target = std::string(target), more = std::string(more)] {
      const tcp_stream s = connect_with_little_room(web.address);
      s.write_all(bytes_of(get(target, more)));
      EXPECT_GE(read_slowly(s, body_bytes), body_bytes) << target;
    });
  };
  expect_all("/whole", "Connection: close\r\n");
  expect_all("/pieces", "Connection: close\r\n");
  expect_all("/files/large", "Connection: close\r\n");
  expect_all("/websocket", upgrade);
  if (sley::http::has_compression()) {
    expect_all("/packed", "Connection: close\r\nAccept-Encoding: gzip\r\n");
  }
  group.wait();
}

GO_TEST(progress, a_slow_server_gets_all_of_a_body) {
  sley::chan<std::size_t> received(2);
  const sley_test::scripted_server slow([=](int, const tcp_stream& s) {
    s.set_read_buffer(64 << 10);
    received.send(read_slowly(s, body_bytes));
  });
  client c({.header_timeout = 100ms, .write_timeout = limit});
  sley::wait_group group;
  // The server never answers: the request's own end brings the client's time-out.
  group.go([&] {
    std::error_code error;
    c.post(slow.url, "", large_text(), error);
    EXPECT_TRUE(error);
  });
  group.go([&] {
    std::size_t at = 0;
    std::error_code error;
    c.post(slow.url, "", sley::http::request_body([&at](std::span<std::byte> room) {
             const std::size_t n = std::min(room.size(), body_bytes - at);
             std::ranges::copy(bytes_of(large_text()).subspan(at, n), room.begin());
             at += n;
             return n;
           }),
           error);
    EXPECT_TRUE(error);
  });
  EXPECT_GE(*received.receive(), body_bytes);
  EXPECT_GE(*received.receive(), body_bytes);
  group.wait();
}

// ---- answers that are cut ----

namespace {

// What a server says of its answers.
class account {
 public:
  server_options options() {
    server_options o;
    o.write_timeout = 50ms;
    o.access_log = [this](const access_record& r) {
      const std::lock_guard guard(lock_);
      cut_by.push_back(r.cut_by);
      bytes.push_back(r.body_bytes);
      lines.push_back(sley::http::to_line(r));
    };
    o.on_error = [this](const request* in, std::exception_ptr e) {
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

}  // namespace

GO_TEST(progress, an_answer_that_the_client_does_not_read_is_cut_and_logged) {
  account told;
  const running_server web(
      [](request& in, response& out) {
        if (in.path() == "/ignored") {  // the handler looks away
          std::error_code error;
          out.headers().set("Content-Length", large_text().size());
          out.write(large_text(), error);
          return;
        }
        answer(in, out);
      },
      told.options());
  std::size_t expected = 0;
  for (const std::string_view target : {"/whole", "/pieces", "/ignored", "/websocket"}) {
    const tcp_stream s = connect_with_little_room(web.address);
    s.write_all(bytes_of(get(target, target == "/websocket" ? upgrade : "")));
    ++expected;
    ASSERT_TRUE(eventually([&] { return told.size() == expected; })) << target;
    EXPECT_EQ(told.cut_by.back(), std::errc::timed_out) << target;
    EXPECT_LT(told.bytes.back(), body_bytes) << target;
    EXPECT_TRUE(has(told.lines.back(), " cut: ")) << told.lines.back();
    ASSERT_EQ(told.reported.size(), expected) << target;  // once each
    EXPECT_EQ(told.reported.back(), std::errc::timed_out) << target;
  }
}

GO_TEST(progress, the_log_counts_the_bytes_sent) {
  account told;
  const running_server web(
      [](request& in, response& out) {
        if (in.path() == "/unfinished") {
          out.write("begun");
          out.flush();
          throw std::runtime_error("oops");
        }
        if (in.path() == "/chunks") {
          out.write("one");
          out.flush();
          out.write("two");
          return;
        }
        out.send(200, "text/plain", "hello");
      },
      told.options());
  web.exchange(get("/") + "HEAD / HTTP/1.1\r\nHost: test\r\n\r\n" + get("/chunks") +
               get("/unfinished"));
  web.exchange("nonsense\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return told.size() == 5; }));
  EXPECT_EQ(told.bytes, (std::vector<std::uint64_t>{5, 0, 6, 5, 16}));
  EXPECT_FALSE(told.cut_by[0] || told.cut_by[1] || told.cut_by[2] || told.cut_by[4]);
  EXPECT_EQ(told.cut_by[3], sley::http::errc::incomplete);
  EXPECT_EQ(told.reported.size(), 1U);
}
