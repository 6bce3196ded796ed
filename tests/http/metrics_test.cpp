// http::metrics(): what the servers of the process have answered. The figures are of the whole
// process, so a test looks at how far they grow.
#include "support/exposition.hpp"
#include "support/text.hpp"
#include "support/web.hpp"

#include <sley/http/debug.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using sley_test::eventually;
using sley_test::exposition;
using sley_test::get;
using sley_test::running_server;

namespace {

exposition figures() {
  return sley_test::parse_exposition(sley::debug::metrics_text(sley::http::metrics()));
}

double answered(const exposition& of, const char* code) {
  return of.value("sley_http_requests_total", {{"code", code}});
}
double in_flight() { return figures().value("sley_http_requests_in_flight"); }
double timed(const exposition& of) { return of.value("sley_http_request_duration_seconds_count"); }
double longer_than(const exposition& of, const char* bound) {
  return timed(of) - of.value("sley_http_request_duration_seconds_bucket", {{"le", bound}});
}

// A request counts when its answer is sent, so the client may know of it before.
bool grows(const exposition& before, const char* code, double count) {
  return eventually([&] { return answered(figures(), code) == answered(before, code) + count; });
}

}  // namespace

GO_TEST(http_metrics, have_each_request_by_its_status) {
  const exposition before = figures();
  const running_server web(
      [](const sley::http::request& in, sley::http::response& out) {
        if (in.path() == "/throws") throw std::runtime_error("meant");
        out.send(in.path() == "/" ? 200 : 404);
      },
      {.on_error = [](const sley::http::request*, const std::exception_ptr&) {}});
  web.exchange(get("/") + get("/") + get("/none") + get("/"));
  web.exchange(get("/none"));
  web.exchange(get("/throws"));
  web.exchange("no request\r\n\r\n");
  EXPECT_TRUE(grows(before, "2xx", 3));
  EXPECT_TRUE(grows(before, "4xx", 3)) << "one of them was not understood";
  EXPECT_TRUE(grows(before, "5xx", 1));
  EXPECT_EQ(timed(figures()), timed(before) + 6) << "all but the one that was not understood";
  EXPECT_TRUE(eventually([] { return in_flight() == 0; }));
}

GO_TEST(http_metrics, have_the_requests_that_are_being_answered) {
  const exposition before = figures();
  const sley::chan<void> goes_on;
  const running_server web([&](const sley::http::request&, sley::http::response& out) {
    goes_on.receive();
    out.send(200);
  });
  sley::wait_group clients;
  for (int i = 0; i < 3; ++i) clients.go([&web] { web.exchange(get("/")); });
  EXPECT_TRUE(eventually([] { return in_flight() == 3; }));
  EXPECT_EQ(answered(figures(), "2xx"), answered(before, "2xx"));
  goes_on.close();
  clients.wait();
  EXPECT_TRUE(eventually([] { return in_flight() == 0; }));
  EXPECT_TRUE(grows(before, "2xx", 3));
}

GO_TEST(http_metrics, have_how_long_it_took) {
  const exposition before = figures();
  const auto begin = std::chrono::steady_clock::now();
  const running_server web([](const sley::http::request&, sley::http::response& out) {
    sley::this_goroutine::sleep_for(30ms);
    out.send(200);
  });
  web.exchange(get("/"));
  EXPECT_TRUE(grows(before, "2xx", 1));
  const exposition after = figures();
  const std::chrono::duration<double> most = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(longer_than(after, "0.025"), longer_than(before, "0.025") + 1);
  const double took = after.value("sley_http_request_duration_seconds_sum") -
                      before.value("sley_http_request_duration_seconds_sum");
  EXPECT_GE(took, 0.0299);
  EXPECT_LE(took, most.count());
}

GO_TEST(http_metrics, have_a_handler_that_ends_its_goroutine) {
  const running_server web([](const sley::http::request&, const sley::http::response&) {
    sley::this_goroutine::exit();
  });
  web.exchange(get("/"));
  EXPECT_TRUE(eventually([] { return in_flight() == 0; }));
}

GO_TEST(http_metrics, have_a_websocket_while_it_is_open) {
  const exposition before = figures();
  const running_server web([](sley::http::request& in, sley::http::response& out) {
    auto ws = sley::http::websocket::accept(in, out);
    ws.read();
  });
  auto s = web.connect();
  s.write_all(sley_test::bytes_of(
      get("/",
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")));
  EXPECT_TRUE(eventually([] { return in_flight() == 1; }));
  s.close();
  EXPECT_TRUE(eventually([] { return in_flight() == 0; }));
  EXPECT_TRUE(grows(before, "1xx", 1));
  EXPECT_EQ(timed(figures()), timed(before));
}
