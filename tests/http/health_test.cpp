// What a load balancer is told, and how a server ends behind one. Each step is waited for by what
// it causes: a time without end stands for a long one.
#include "support/web.hpp"

#include <chrono>
#include <string>
#include <system_error>

using sley::http::health;
using sley::http::request;
using sley::http::response;
using sley::http::router;
using sley_test::ask_for_hello;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

namespace {

constexpr auto without_end = sley::time_span::max();

router site_of(const health& h) {
  router site;
  h.add_to(site);
  site.get("/", sley_test::hello);
  return site;
}

bool refuses_connections(const running_server& web) {
  std::error_code error;
  sley::net::tcp_stream::connect(web.address, error);
  return static_cast<bool>(error);
}

}  // namespace

GO_TEST(health, tells_whether_the_process_lives_and_is_ready) {
  const health h;
  const running_server web(site_of(h));
  const std::string before = web.exchange(get("/readyz"));
  EXPECT_EQ(status_of(before), 503);
  EXPECT_TRUE(has(before, "Cache-Control: no-store\r\n"));
  EXPECT_EQ(status_of(web.exchange(get("/healthz"))), 200);
  h.set_ready(true);
  EXPECT_TRUE(h.is_ready());
  EXPECT_EQ(status_of(web.exchange(get("/readyz"))), 200);
  h.set_ready(false);
  EXPECT_EQ(status_of(web.exchange(get("/readyz"))), 503);
}

GO_TEST(health, readiness_turns_before_the_server_stops_listening) {
  const health h;
  h.set_ready(true);
  running_server web(site_of(h));
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group stopping;
  stopping.go([&, ctx] { h.stop(web.server, {.notice = without_end}, ctx); });
  ASSERT_TRUE(eventually([&] { return !h.is_ready(); }));
  h.set_ready(true);
  EXPECT_FALSE(h.is_ready()) << "it does not turn back";
  EXPECT_EQ(status_of(web.exchange(get("/readyz"))), 503);
  EXPECT_EQ(status_of(web.exchange(get("/healthz"))), 200);
  EXPECT_EQ(status_of(web.exchange(get("/"))), 200) << "it serves";
  cancel();
  stopping.wait();
  EXPECT_TRUE(refuses_connections(web));
}

GO_TEST(health, requests_under_way_are_answered) {
  const sley::chan<void> begun;
  const sley::chan<void> release;
  running_server web([&](request&, response& out) {
    begun.close();
    release.receive();
    out.send(200, "text/plain", "hello");
  });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  begun.receive();
  sley::wait_group stopping;
  stopping.go(
      [&] { EXPECT_TRUE(health().stop(web.server, {.notice = 0s, .drain = without_end})); });
  ASSERT_TRUE(eventually([&] { return refuses_connections(web); }));
  release.close();
  EXPECT_TRUE(has(read_to_end(s), "hello"));
  stopping.wait();
}

GO_TEST(health, connections_are_cut_when_the_time_is_over) {
  const sley::chan<void> release;
  running_server web([&](request&, response&) { release.receive(); });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 1; }));
  EXPECT_FALSE(health().stop(web.server, {.notice = 0s, .drain = 0s}));
  std::error_code cut;
  std::byte one[1];
  EXPECT_EQ(s.read_some(one, cut), 0U);
  release.close();
}

GO_TEST(health, a_new_connection_may_still_send_its_first_request) {
  running_server web(sley_test::hello, {.last_request_timeout = without_end});
  const auto s = web.connect();
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 1; }));
  sley::wait_group stopping;
  stopping.go(
      [&] { EXPECT_TRUE(health().stop(web.server, {.notice = 0s, .drain = without_end})); });
  ASSERT_TRUE(eventually([&] { return refuses_connections(web); }));
  const std::string answer = ask_for_hello(s);
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
  EXPECT_TRUE(has(answer, "hello"));
  stopping.wait();
}
