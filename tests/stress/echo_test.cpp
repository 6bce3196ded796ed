// Ten thousand connections at once, all of them in use: each sends messages of random sizes, some
// larger than what sockets hold, and checks every byte that comes back. The clients are a process
// of their own, because a connection takes a descriptor at either end.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <sys/resource.h>

using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::random_source;

namespace {

constexpr int wanted_connections = 10'000;
constexpr int messages = 3;
constexpr std::size_t usual_bytes = 4'000;
constexpr std::size_t large_bytes = 300'000;
const std::string greeting = "hello";

// As many as descriptors are allowed for, at most as many as wanted.
int connections() {
  rlimit limit = {};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto others = rlim_t{200};
  return static_cast<int>(std::min<rlim_t>(
      limit.rlim_cur - others, static_cast<rlim_t>(sley_test::rounds(wanted_connections))));
}

std::size_t size_of_message(random_source& random) {
  return 1 + random.below(random.one_in(200) ? large_bytes : usual_bytes);
}

}  // namespace

// All have been greeted before the first says anything.
CHILD_MAIN(many_clients) {
  const std::string address = std::getenv("SLEY_TEST_ADDRESS");
  const int count = connections();
  sley::run([&] {
    sley::chan<void> begin;
    sley::wait_group connected, all;
    connected.add(count);
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        random_source random(static_cast<std::uint64_t>(i));
        const tcp_stream s = tcp_stream::connect(address);
        EXPECT_EQ(sley_test::read_exactly(s, greeting.size()), greeting);
        connected.done();
        begin.receive();
        for (int k = 0; k < messages; ++k) sley_test::exchange(s, random, size_of_message(random));
      });
    }
    connected.wait();
    begin.close();
    all.wait();
  });
  return sley_test::verdict();
}

GO_TEST(echo, ten_thousand_connections_get_back_every_byte) {
  const int count = connections();
  const auto listener = tcp_listener::listen("127.0.0.1:0");
  ASSERT_EQ(::setenv("SLEY_TEST_ADDRESS", listener.local().to_string().c_str(), 1), 0);
  const auto process = sley::os::process::start(
      {.program = "/proc/self/exe", .arguments = {"--sley_child=many_clients"}});
  sley::wait_group all;
  std::atomic<int> greeted = 0;
  for (int i = 0; i < count; ++i) {
    all.go([&, s = listener.accept()] {
      ++greeted;
      s.write_all(sley_test::bytes_of(greeting));
      sley_test::echo(s);
    });
  }
  EXPECT_EQ(process.wait().code(), 7) << "the clients' verdict";
  all.wait();
  EXPECT_EQ(greeted, count);
}
