// An interrupter ends what goes on over a stream of another owner, and nothing else.
#include "support/connections.hpp"

#include <sley/detail/interrupter.hpp>
#include <sley/sync.hpp>

#include <optional>
#include <utility>

using sley::detail::interrupter;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::read_exactly;
using sley_test::tcp_pair;

GO_TEST(interrupter, ends_a_read_that_waits_and_all_writes) {
  tcp_pair p = connect_tcp();
  const interrupter end(p.server);
  sley::wait_group reading;
  const tcp_stream moved = std::move(p.server);
  reading.go([&] { EXPECT_EQ(sley_test::read_to_end(moved), ""); });
  sley::this_goroutine::yield();
  end.interrupt();
  reading.wait();
  std::error_code error;
  moved.write_all(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
  end.interrupt();
}

GO_TEST(interrupter, does_nothing_to_a_stream_that_is_closed) {
  tcp_pair p = connect_tcp();
  const interrupter end(p.server);
  p.server.close();
  end.interrupt();
}

// The record of the stream serves others by then.
GO_TEST(interrupter, does_nothing_to_a_stream_that_comes_later) {
  std::optional<tcp_pair> first = connect_tcp();
  const interrupter a(first->server), b(first->client);
  first.reset();
  const tcp_pair later = connect_tcp();
  a.interrupt();
  b.interrupt();
  later.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(later.server, 5), "hello");
  later.server.write_all(bytes_of("back"));
  EXPECT_EQ(read_exactly(later.client, 4), "back");
}
