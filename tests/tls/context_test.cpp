// Aim: a context ends every wait of TLS streams, as an argument or bound to the stream, and no byte
// is lost or doubled by that: an operation that was given up goes on with the next call. Method:
// each wait with a context that ends meanwhile; and bytes both ways while contexts end at random
// points.
#include "support/harness.hpp"
#include "support/short_context.hpp"
#include "tls/pairs.hpp"

#include <sley/context.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using sley::context;
using sley::context_errc;
using sley_test::connect_tcp;
using sley_test::connected_tls;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::rounds;
using sley_test::short_context;
using sley_test::tcp_pair;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;
using namespace std::chrono_literals;

namespace {

std::byte numbered(std::size_t i) { return static_cast<std::byte>(i % 251); }

std::vector<std::byte> numbered_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = numbered(i);
  return bytes;
}

// The context as an argument, or bound to the stream for the call.
template <class Operation>
std::size_t with_context(const sley::net::tls_stream& s, bool is_bound, const context& ctx,
                         std::error_code& error, const Operation& operation) {
  if (!is_bound) return operation(ctx, error);
  s.set_context(ctx);
  const std::size_t n = operation(error);
  s.set_context({});
  return n;
}

}  // namespace

GO_TEST(tls_context, ends_a_read_and_the_next_goes_on) {
  for (const bool is_bound : {false, true}) {
    const tls_pair p = connected_tls();
    const auto [ctx, cancel] = sley::with_cancel({});
    sley::wait_group group;
    group.add(1);
    go_until_parked([&, c = ctx] {
      std::array<std::byte, 4> room;
      std::error_code error;
      with_context(p.client, is_bound, c, error,
                   [&](auto&... with) { return p.client.read_exactly(room, with...); });
      EXPECT_EQ(error, context_errc::canceled);
      group.done();
    });
    cancel();
    group.wait();
    p.server.write_all("x");
    EXPECT_EQ(read_exactly(p.client, 1), "x");
  }
}

GO_TEST(tls_context, the_error_tells_how_it_has_ended) {
  const tls_pair p = connected_tls();
  const auto [ctx, cancel] = sley::with_timeout({}, 5ms);
  std::array<std::byte, 1> room;
  std::error_code error;
  p.client.read_some(room, ctx, error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  p.client.set_context(ctx);
  p.client.set_deadline(sley::time_point::max());
  EXPECT_EQ(read_error(p.client), context_errc::deadline_exceeded);
  EXPECT_THROW(p.client.write_all("x"), std::system_error);
  p.client.set_context({});
  p.client.set_read_deadline(sley::time_point::min());
  EXPECT_EQ(read_error(p.client), std::make_error_code(std::errc::timed_out));
  p.client.write_all("y");
  EXPECT_EQ(read_exactly(p.server, 2), "xy");  // it was taken
}

GO_TEST(tls_context, nothing_is_done_once_it_has_ended) {
  const auto [ctx, cancel] = sley::with_cancel({});
  cancel();
  const tls_pair p = connected_tls();
  p.server.write_all("x");
  std::array<std::byte, 1> room;
  std::error_code error;
  EXPECT_EQ(p.client.read_some(room, ctx, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(p.client.read_exactly(room, ctx, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(p.client.write_some("y", ctx, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(p.client.write_all("y", ctx, error), 0U);
  EXPECT_EQ(error, context_errc::canceled);
  EXPECT_EQ(read_exactly(p.client, 1), "x");
  p.client.write_all("z");
  EXPECT_EQ(read_exactly(p.server, 1), "z");
}

// Bytes that were taken are sent before the next write's.
GO_TEST(tls_context, ends_a_write_and_the_next_goes_on) {
  for (const bool is_bound : {false, true}) {
    const tls_pair p = connected_tls();
    const std::vector<std::byte> bytes = numbered_bytes(32 << 20);
    const auto [ctx, cancel] = sley::with_cancel({});
    std::size_t taken = 0;
    sley::wait_group group;
    group.add(1);
    go_until_parked([&, c = ctx] {
      std::error_code error;
      taken = with_context(p.client, is_bound, c, error,
                           [&](auto&... with) { return p.client.write_all(bytes, with...); });
      EXPECT_EQ(error, context_errc::canceled);
      group.done();
    });
    cancel();
    group.wait();
    EXPECT_LT(taken, bytes.size());
    group.go([&] { p.client.write_all(std::span(bytes).subspan(taken)); });
    std::vector<std::byte> got(bytes.size());
    p.server.read_exactly(got);
    group.wait();
    EXPECT_TRUE(got == bytes);
  }
}

// The server closes: what the client has not read, tickets, would make its end a reset.
GO_TEST(tls_context, close_sends_the_rest_and_announces_the_end) {
  for (const bool is_bound : {false, true}) {
    tls_pair p = connected_tls();
    const std::vector<std::byte> bytes = numbered_bytes(32 << 20);
    const auto [ctx, cancel] = sley::with_cancel({});
    std::size_t taken = 0;
    sley::wait_group group;
    group.add(1);
    go_until_parked([&, c = ctx] {
      std::error_code error;
      if (is_bound) {
        p.server.set_context(c);
        taken = p.server.write_all(bytes, error);
      } else {
        taken = p.server.write_all(bytes, c, error);
      }
      EXPECT_EQ(error, context_errc::canceled);
      group.done();
    });
    cancel();
    group.wait();
    group.go([&] { p.server.close(); });
    EXPECT_EQ(sley_test::read_to_end(p.client).size(), taken);
    group.wait();
  }
}

GO_TEST(tls_context, ends_a_handshake_with_a_silent_peer) {
  for (const bool is_bound : {false, true}) {
    tcp_pair c = connect_tcp();
    const sley::net::tls_stream s(std::move(c.client), usual_client(), "localhost");
    const auto [ctx, cancel] = sley::with_timeout({}, 10ms);
    std::error_code error;
    with_context(s, is_bound, ctx, error, [&](auto&... with) {
      s.handshake(with...);
      return 0U;
    });
    EXPECT_EQ(error, context_errc::deadline_exceeded);
    EXPECT_THROW(s.handshake(ctx), std::system_error);
  }
}

// A handshake that waited for its peer can be made again.
GO_TEST(tls_context, a_handshake_that_was_given_up_goes_on) {
  const tls_pair p = sley_test::connect_tls(usual_client(), usual_server());
  const auto [ctx, cancel] = sley::with_timeout({}, 10ms);
  std::error_code error;
  p.client.handshake(ctx, error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  const sley_test::handshake_errors errors = sley_test::shake_hands(p);
  EXPECT_FALSE(errors.client || errors.server);
}

// One of several readers reads from the network, and the others wait for it. Each is given up in
// turn; the others read on.
GO_TEST(tls_context, ends_one_reader_of_several) {
  for (int ended = 0; ended < 3; ++ended) {
    const tls_pair p = connected_tls();
    std::pair<context, sley::cancel_function> contexts[3];
    std::atomic<int> read = 0, given_up = 0;
    for (auto& made : contexts) {
      made = sley::with_cancel({});
      go_until_parked([&, c = made.first] {
        std::array<std::byte, 1> room;
        std::error_code error;
        read += static_cast<int>(p.client.read_some(room, c, error));
        if (error == context_errc::canceled) ++given_up;
      });
    }
    contexts[ended].second();
    EXPECT_TRUE(sley_test::eventually([&] { return given_up == 1; }));
    let_others_run();
    EXPECT_EQ(given_up + read, 1);
    p.server.write_all("xy");
    EXPECT_TRUE(sley_test::eventually([&] { return read == 2; }));
    EXPECT_EQ(given_up, 1);
  }
}

// A writer has the turn and waits: the one behind it gives up, and the first goes on.
GO_TEST(tls_context, ends_a_wait_for_a_turn_to_write) {
  const tls_pair p = connected_tls();
  const std::vector<std::byte> bytes = numbered_bytes(32 << 20);
  sley::wait_group group;
  group.add(1);
  go_until_parked([&] {
    p.client.write_all(bytes);
    group.done();
  });
  const auto [ctx, cancel] = sley::with_timeout({}, 5ms);
  std::error_code error;
  EXPECT_EQ(p.client.write_all("x", ctx, error), 0U);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  std::vector<std::byte> got(bytes.size());
  p.server.read_exactly(got);
  group.wait();
  EXPECT_TRUE(got == bytes);
}

GO_TEST(tls_context, ends_an_accept) {
  const auto l = sley::net::tls_listener::listen("127.0.0.1:0", usual_server());
  const auto [ctx, cancel] = sley::with_timeout({}, 5ms);
  std::error_code error;
  l.accept(ctx, error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  l.set_context(ctx);
  l.accept(error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  l.set_context({});
  sley::wait_group group;
  group.go([&] { sley::net::tcp_stream::connect(l.local().to_string()); });
  EXPECT_TRUE(l.accept().is_open());
  group.wait();
}

namespace {

void send_numbered(const sley::net::tls_stream& s, std::size_t total, std::uint64_t seed) {
  random_source random(seed);
  const std::vector<std::byte> bytes = numbered_bytes(total);
  for (std::size_t sent = 0; sent < total;) {
    const short_context ctx(random);
    const auto part = std::span(bytes).subspan(
        sent, std::min<std::size_t>(total - sent, 1 + random.below(40'000)));
    std::error_code error;
    sent += with_context(s, random.one_in(2), ctx.get(), error,
                         [&](auto&... with) { return s.write_all(part, with...); });
  }
  std::error_code error;
  do {
    s.shutdown_write(error);
  } while (error == std::errc::operation_canceled || error == std::errc::timed_out);
  EXPECT_FALSE(error) << error.message();
}

void expect_numbered(const sley::net::tls_stream& s, std::size_t total, std::uint64_t seed) {
  random_source random(seed);
  std::vector<std::byte> room(40'000);
  std::size_t got = 0;
  for (bool is_at_end = false; !is_at_end;) {
    const short_context ctx(random);
    std::error_code error;
    const std::size_t n = with_context(s, random.one_in(2), ctx.get(), error, [&](auto&... with) {
      return s.read_some(std::span(room).first(1 + random.below(room.size())), with...);
    });
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(room[i], numbered(got + i)) << got + i;
    got += n;
    is_at_end = n == 0 && !error;
  }
  EXPECT_EQ(got, total);
}

}  // namespace

// The reader and the writer of a side bind their contexts in turn, so that one ends the other's
// wait as well.
GO_TEST(tls_context, no_byte_is_lost_or_doubled_in_a_storm) {
  const auto total = static_cast<std::size_t>(rounds(2'000'000));
  const tls_pair p = connected_tls();
  sley::wait_group group;
  group.go([&] { send_numbered(p.client, total, 1); });
  group.go([&] { send_numbered(p.server, total, 2); });
  group.go([&] { expect_numbered(p.client, total, 3); });
  group.go([&] { expect_numbered(p.server, total, 4); });
  group.wait();
}
