// The write limit of server and client is for the peer to take something: a slow peer that takes
// something all the time gets everything, one that takes nothing is cut, and the server says so.
//
// Each slow peer takes several times the limit for what it reads. They all read at the same time.
#include "support/scripted_server.hpp"
#include "support/slow_peers.hpp"
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

using sley::http::client;
using sley::http::request;
using sley::http::response;
using sley::net::tcp_stream;
using sley_test::answer_account;
using sley_test::bytes_of;
using sley_test::connect_with_little_room;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::large_bytes;
using sley_test::large_source;
using sley_test::large_text;
using sley_test::progress_limit;
using sley_test::read_slowly;
using sley_test::running_server;
using sley_test::send_large_text;
using sley_test::upgrade_fields;
using namespace std::chrono_literals;

namespace {

struct large_file {
  large_file() { std::ofstream(folder / "large", std::ios::binary) << large_text(); }
  sley_test::temporary_folder folder;
};

}  // namespace

GO_TEST(progress, a_slow_client_gets_all_of_an_answer) {
  const large_file files;
  sley::http::router routes;
  routes.get("/packed", sley::http::compress()(&send_large_text));
  routes.get("/files/{path...}", sley::http::file_server(files.folder.path().string()));
  routes.get("/{path...}", &send_large_text);
  const running_server web(routes, {.write_timeout = progress_limit});
  sley::wait_group group;
  const auto expect_all = [&](std::string_view target, std::string_view more) {
    group.go([&web, target = std::string(target), more = std::string(more)] {
      const tcp_stream s = connect_with_little_room(web.address);
      s.write_all(bytes_of(get(target, more)));
      EXPECT_GE(read_slowly(s, large_bytes), large_bytes) << target;
    });
  };
  expect_all("/whole", "Connection: close\r\n");
  expect_all("/pieces", "Connection: close\r\n");
  expect_all("/files/large", "Connection: close\r\n");
  expect_all("/websocket", upgrade_fields);
  if (sley::http::has_compression()) {
    expect_all("/packed", "Connection: close\r\nAccept-Encoding: gzip\r\n");
  }
  group.wait();
}

GO_TEST(progress, a_slow_server_gets_all_of_a_body) {
  sley::chan<std::size_t> received(2);
  const sley_test::scripted_server slow([=](int, const tcp_stream& s) {
    s.set_read_buffer(64 << 10);
    received.send(read_slowly(s, large_bytes));
  });
  client c({.header_timeout = 100ms, .write_timeout = progress_limit});
  sley::wait_group group;
  // The server never answers: the request's own end brings the client's time-out.
  group.go([&] {
    std::error_code error;
    c.post(slow.url, "", large_text(), error);
    EXPECT_TRUE(error);
  });
  group.go([&] {
    std::error_code error;
    c.post(slow.url, "", large_source(), error);
    EXPECT_TRUE(error);
  });
  EXPECT_GE(*received.receive(), large_bytes);
  EXPECT_GE(*received.receive(), large_bytes);
  group.wait();
}

// ---- answers that are cut ----

GO_TEST(progress, an_answer_that_the_client_does_not_read_is_cut_and_logged) {
  answer_account told;
  const running_server web(
      [](request& in, response& out) {
        if (in.path() == "/ignored") {  // the handler looks away
          std::error_code error;
          out.headers().set("Content-Length", large_text().size());
          out.write(large_text(), error);
          return;
        }
        send_large_text(in, out);
      },
      told.options());
  std::size_t expected = 0;
  for (const std::string_view target : {"/whole", "/pieces", "/ignored", "/websocket"}) {
    const tcp_stream s = connect_with_little_room(web.address);
    s.write_all(bytes_of(get(target, target == "/websocket" ? upgrade_fields : "")));
    ++expected;
    ASSERT_TRUE(eventually([&] { return told.size() == expected; })) << target;
    EXPECT_EQ(told.cut_by.back(), std::errc::timed_out) << target;
    EXPECT_LT(told.bytes.back(), large_bytes) << target;
    EXPECT_TRUE(has(told.lines.back(), " cut: ")) << told.lines.back();
    ASSERT_EQ(told.reported.size(), expected) << target;  // once each
    EXPECT_EQ(told.reported.back(), std::errc::timed_out) << target;
  }
}

GO_TEST(progress, the_log_counts_the_bytes_sent) {
  answer_account told;
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
