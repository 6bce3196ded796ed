// <sley/postgres.hpp> with a peer that does what no good server does, or not when a test wants it.
#include "support/harness.hpp"

#include "adapters/postgres_peer.hpp"

#include <sley/postgres.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace net = sley::net;
namespace postgres = sley::postgres;
using sley::context;
using sley::context_errc;
using sley_test::go_until_parked;
using sley_test::postgres_done;
using sley_test::postgres_peer;
using sley_test::read_to_end;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

// ErrorResponse without a field, and ReadyForQuery.
constexpr std::string_view refused =
    "E\0\0\0\5\0"
    "Z\0\0\0\5I"sv;

postgres::connection connect_to(const postgres_peer& peer, sley::time_span cancel_limit = 100s) {
  return postgres::connection::connect({.conninfo = peer.conninfo(), .cancel_limit = cancel_limit});
}

std::error_code error_of_execute(postgres::connection& c, const context& ctx = {}) {
  std::error_code error;
  c.execute("select 1", {}, ctx, error);
  return error;
}

// Whose context ends once it waits.
std::error_code error_of_canceled_execute(postgres::connection& c) {
  const auto [ctx, cancel] = sley::with_cancel({});
  std::error_code error;
  sley::wait_group waiting;
  waiting.add(1);
  go_until_parked([&] {
    error = error_of_execute(c, ctx);
    waiting.done();
  });
  cancel();
  waiting.wait();
  return error;
}

// Reads one statement, which ends with a Sync.
void read_statement(const net::unix_stream& s) {
  std::string all;
  while (!all.ends_with("S\0\0\0\4"sv)) all += sley_test::read_exactly(s, 1);
}

}  // namespace

GO_TEST(postgres_protocol, an_answer_may_come_in_single_bytes) {
  const postgres_peer peer([](const net::unix_stream& s) {
    read_statement(s);
    for (const char& c : postgres_done) s.write_all({&c, 1});
    read_to_end(s);
  });
  postgres::connection c = connect_to(peer);
  EXPECT_FALSE(error_of_execute(c));
  EXPECT_TRUE(c.is_open());
}

GO_TEST(postgres_protocol, a_server_that_closes_in_the_middle_has_broken_the_connection) {
  for (std::size_t size = 0; size < postgres_done.size(); ++size) {
    const postgres_peer peer([size](const net::unix_stream& s) {
      read_statement(s);
      s.write_all(postgres_done.substr(0, size));
    });
    postgres::connection c = connect_to(peer);
    EXPECT_EQ(error_of_execute(c), std::errc::connection_aborted) << "after " << size << " bytes";
    EXPECT_FALSE(c.is_open());
  }
}

GO_TEST(postgres_protocol, a_statement_that_ends_without_a_result_breaks_the_connection) {
  const postgres_peer peer([](const net::unix_stream& s) {
    read_statement(s);
    s.write_all("Z\0\0\0\5I"sv);
    read_to_end(s);
  });
  postgres::connection c = connect_to(peer);
  EXPECT_EQ(error_of_execute(c), std::errc::protocol_error);
  EXPECT_FALSE(c.is_open());
}

GO_TEST(postgres_protocol, a_cancel_request_that_overtakes_its_statement_is_repeated) {
  const sley::chan<void> second;
  const auto requests = std::make_shared<std::atomic<int>>(0);
  const postgres_peer peer(
      [second](const net::unix_stream& s) {
        read_statement(s);
        second.receive();
        s.write_all(refused);
        sley_test::say_done(s);
      },
      [second, requests](const net::unix_stream&) {
        if (++*requests == 2) second.close();
      });
  postgres::connection c = connect_to(peer);
  EXPECT_EQ(error_of_canceled_execute(c), context_errc::canceled);
  EXPECT_EQ(*requests, 2);
  EXPECT_TRUE(c.is_open());
  EXPECT_FALSE(error_of_execute(c));
}

// The request goes on until the peer is destroyed. There is another one each time: more than may be
// under way.
GO_TEST(postgres_protocol, a_cancel_request_without_an_answer_is_waited_for_within_the_limit) {
  const postgres_peer peer([](const net::unix_stream& s) { read_to_end(s); },
                           [](const net::unix_stream& s) { read_to_end(s); });
  for (int i = 0; i < 10; ++i) {
    postgres::connection c = connect_to(peer, 1ms);
    EXPECT_EQ(error_of_canceled_execute(c), context_errc::canceled);
    EXPECT_FALSE(c.is_open());
  }
}
