// The pages of <sley/http/debug.hpp>.
#include "support/web.hpp"

#include <sley/http/debug.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using sley_test::status_of;

namespace {

// A server of the process, which stays until it ends, as its goroutine does.
const std::string& served() {
  static const std::string address = sley::debug::serve("127.0.0.1:0").to_string();
  return address;
}

std::string ask(std::string_view page, std::string_view host = "localhost") {
  const auto s = sley::net::tcp_stream::connect(served());
  s.write_all(sley_test::bytes_of("GET " + std::string(page) + " HTTP/1.1\r\nHost: " +
                                  std::string(host) + "\r\nConnection: close\r\n\r\n"));
  return sley_test::read_to_end(s);
}

}  // namespace

TEST(debug_pages, are_served_on_a_loopback_address) {
  sley::run([] {
    EXPECT_TRUE(has(ask("/debug/"), "href=\"goroutines\""));
    // It has just accepted the connection, and is about to wait for the next one.
    EXPECT_TRUE(eventually(
        [] { return has(ask("/debug/goroutines"), "\"sley debug server\" [IO wait]:"); }));
    EXPECT_TRUE(eventually([] { return has(ask("/debug/profile"), "1 [IO wait]:"); }));
    const std::string metrics = ask("/debug/metrics");
    EXPECT_TRUE(has(metrics, "\n# TYPE sley_goroutines gauge\nsley_goroutines "));
    EXPECT_TRUE(has(metrics, "\n# TYPE sley_spawned_total counter\nsley_spawned_total "));
    EXPECT_EQ(status_of(ask("/debug/other")), 404);
    EXPECT_EQ(status_of(ask("/")), 404);
  });
}

// A name that a page elsewhere makes stand for 127.0.0.1.
TEST(debug_pages, answer_to_names_of_this_machine_only) {
  sley::run([] {
    for (const char* host : {"127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "localhost:80"}) {
      EXPECT_EQ(status_of(ask("/debug/", host)), 200) << host;
    }
    for (const char* host : {"example.com", "127.example.com", "127.0.0.1.example.com", "[::2]"}) {
      EXPECT_EQ(status_of(ask("/debug/", host)), 403) << host;
    }
  });
}

TEST(debug_pages, are_served_on_loopback_addresses_only) {
  sley::run([] {
    for (const char* address : {"0.0.0.0:0", "[::]:0", ":0", "example.com:80", "10.0.0.1:80", ""}) {
      EXPECT_THROW(sley::debug::serve(address), std::invalid_argument) << address;
    }
    const std::string taken = served();
    EXPECT_THROW(sley::debug::serve(taken), std::system_error);
  });
}

// The guard of serve() is there for any server that has the pages.
GO_TEST(debug_pages, can_be_kept_for_this_machine_on_any_server) {
  sley::http::router routes;
  routes.get("/debug/{page...}", sley::debug::for_this_machine(sley::debug::pages()));
  const running_server web(routes);
  const auto status_for = [&](std::string_view target, std::string_view host) {
    return status_of(web.exchange("GET " + std::string(target) +
                                  " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"));
  };
  EXPECT_EQ(status_for("/debug/", "localhost:8080"), 200);
  EXPECT_EQ(status_for("/debug/metrics", "[::1]:8080"), 200);
  EXPECT_EQ(status_for("/debug/", "example.com"), 403);
  EXPECT_EQ(status_for("/debug/metrics", "10.0.0.1"), 403);
  EXPECT_EQ(status_for("http://example.com/debug/", "localhost"), 403);
  EXPECT_EQ(status_for("http://localhost/debug/", "example.com"), 403);
  EXPECT_EQ(status_of(web.exchange("GET /debug/ HTTP/1.0\r\n\r\n")), 403);
}

GO_TEST(debug_pages, are_a_handler_for_any_server) {
  sley::http::router routes;
  routes.get("/inside/{page...}", sley::debug::pages());
  const running_server web(routes);
  EXPECT_TRUE(has(web.exchange(get("/inside/metrics")), "sley_procs "));
  EXPECT_TRUE(has(web.exchange(get("/inside/")), "<h1>"));
}
