// Aim: every time limit and size of a server and of a client means what it says at both ends: the
// largest of any unit is no limit, a negative time has passed at once, and none overflows. Method:
// servers and clients with all their limits at one end.
#include "support/durations.hpp"
#include "support/harness.hpp"
#include "support/web.hpp"

#include <sley/http.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

using sley::http::client;
using sley::http::client_options;
using sley::http::request;
using sley::http::response;
using sley::http::server_options;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::hello;
using sley_test::post;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using sley_test::with_each_steady_time_that_is_past;
using sley_test::with_each_steady_time_that_never_comes;
using sley_test::with_each_that_never_ends;
using namespace std::chrono_literals;

namespace {

server_options all_limits_of_server(sley::time_span d) {
  return {.header_timeout = d, .idle_timeout = d, .read_timeout = d, .write_timeout = d};
}

client_options all_limits_of_client(sley::time_span d) {
  return {.connect_timeout = d,
          .header_timeout = d,
          .read_timeout = d,
          .write_timeout = d,
          .idle_timeout = d,
          .expect_timeout = d};
}

void expect_two_answers(const running_server& web) {
  const auto s = web.connect();
  for (int i = 0; i < 2; ++i) {
    s.write_all(bytes_of("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n"));
    sley_test::let_others_run();
    s.write_all(bytes_of("text"));
    EXPECT_EQ(status_of(read_head(s)), 200);
    EXPECT_EQ(read_exactly(s, 4), "text");
  }
}

}  // namespace

GO_TEST(limits_at_both_ends, a_server_without_time_limits_serves) {
  with_each_that_never_ends([](auto d) {
    expect_two_answers(running_server(sley_test::echo_body, all_limits_of_server(d)));
  });
  expect_two_answers(running_server(sley_test::echo_body, all_limits_of_server(0s)));
}

GO_TEST(limits_at_both_ends, a_client_without_time_limits_asks) {
  const running_server web(sley_test::echo_body);
  with_each_that_never_ends([&](auto d) {
    client c(all_limits_of_client(d));
    for (int i = 0; i < 2; ++i) {
      sley::http::client_request r{
          .method = "POST", .url = "http://" + web.address, .body = "text"};
      r.headers.set("Expect", "100-continue");
      EXPECT_EQ(c.send(std::move(r)).read_all(), "text");
    }
    sley_test::let_others_run();
    EXPECT_EQ(c.idle_connections(), 1U) << "it is kept";
  });
}

GO_TEST(limits_at_both_ends, negative_limits_of_a_server_have_passed) {
  for (const sley::time_span d : {-1ns, std::chrono::nanoseconds::min()}) {
    const running_server silent(hello, {.header_timeout = d});
    EXPECT_EQ(read_to_end(silent.connect()), "");
    const running_server once(hello, {.idle_timeout = d});
    const auto s = once.connect();
    s.write_all(bytes_of(get("/")));
    EXPECT_EQ(body_of(read_to_end(s)), "hello");
    const running_server without_bodies(sley_test::echo_body, {.read_timeout = d});
    EXPECT_EQ(status_of(without_bodies.exchange(post("Content-Length: 4\r\n", ""))), 408);
  }
}

GO_TEST(limits_at_both_ends, negative_limits_of_a_client_have_passed) {
  const running_server web(hello);
  const auto error_with = [&](const client_options& options) {
    std::error_code error;
    client(options).get("http://" + web.address, error);
    return error;
  };
  for (const sley::time_span d : {-1ns, std::chrono::nanoseconds::min()}) {
    EXPECT_EQ(error_with({.connect_timeout = d}), std::errc::timed_out);
    EXPECT_EQ(error_with({.write_timeout = d}), std::errc::timed_out);
    client forgetful({.idle_timeout = d});
    forgetful.get("http://" + web.address).read_all();
    EXPECT_TRUE(sley_test::eventually([&] { return forgetful.idle_connections() == 0; }));
  }
}

GO_TEST(limits_at_both_ends, a_server_shuts_down_until_any_time) {
  with_each_steady_time_that_is_past([](auto t) {
    const sley::chan<void> go_on;
    running_server web([&](request&, response& out) {
      go_on.receive();
      out.send(200, "text/plain", "late");
    });
    const auto s = web.connect();
    s.write_all(bytes_of(get("/")));
    EXPECT_TRUE(sley_test::eventually([&] { return web.server.open_connections() == 1; }));
    EXPECT_FALSE(web.server.shutdown(t));
    go_on.close();
    EXPECT_TRUE(web.server.shutdown());
    EXPECT_TRUE(web.server.shutdown(t)) << "there is nothing left to wait for";
  });
  with_each_steady_time_that_never_comes([](auto t) {
    running_server web(hello);
    const auto s = web.connect();
    s.write_all(bytes_of(get("/")));
    EXPECT_EQ(status_of(read_head(s)), 200);
    EXPECT_TRUE(web.server.shutdown(t));
  });
}

GO_TEST(limits_at_both_ends, the_largest_sizes_are_no_limit) {
  const running_server web(sley_test::echo_body, {.header_bytes = SIZE_MAX,
                                                  .target_bytes = SIZE_MAX,
                                                  .body_bytes = UINT64_MAX,
                                                  .connections = SIZE_MAX});
  expect_two_answers(web);
  EXPECT_EQ(body_of(web.exchange(post("Transfer-Encoding: chunked\r\nConnection: close\r\n",
                                      "4\r\ntext\r\n0\r\n\r\n"))),
            "text");
  client c({.header_bytes = SIZE_MAX,
            .body_bytes = UINT64_MAX,
            .connections_per_host = SIZE_MAX,
            .idle_connections = SIZE_MAX});
  EXPECT_EQ(c.post("http://" + web.address, "text/plain", "text").read_all(SIZE_MAX), "text");
}
