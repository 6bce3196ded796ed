// Thousands of clients that never finish their request do not hold up one that does.
#include "support/web.hpp"

#include <string>
#include <vector>

#include <sys/resource.h>

using sley::http::request;
using sley::http::response;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::running_server;
using sley_test::status_of;

GO_TEST(slowloris, does_not_stop_a_healthy_client) {
  constexpr std::size_t slow_clients = 5000;
  constexpr rlim_t descriptors = 2 * slow_clients + 200;
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < descriptors) {
    if (limit.rlim_max < descriptors) {
      GTEST_SKIP() << "needs " << descriptors << " descriptors; the hard limit (ulimit -Hn) is "
                   << limit.rlim_max;
    }
    limit.rlim_cur = descriptors;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  const running_server web([](request&, response& out) { out.send(200, "", "hello"); });
  std::vector<sley::net::tcp_stream> slow;
  for (std::size_t i = 0; i < slow_clients; ++i) {
    slow.push_back(web.connect());
    slow.back().write_all(bytes_of("GET / HTTP/1.1\r\nX-Slow: "));
  }
  const auto healthy = web.connect();
  for (int i = 0; i < 100; ++i) {
    slow[static_cast<std::size_t>(i)].write_all(bytes_of("x"));
    healthy.write_all(bytes_of(get("/")));
    EXPECT_EQ(status_of(read_head(healthy)), 200);
    EXPECT_EQ(read_exactly(healthy, 5), "hello");
  }
  EXPECT_EQ(web.server.open_connections(), slow_clients + 1);
}
