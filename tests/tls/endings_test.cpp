// How TLS streams end: by either side, by a cut, at a deadline; and what cannot begin. Both ends
// are here; where the other end must misbehave it is a plain TCP stream.
#include "support/harness.hpp"
#include "support/stream_promises.hpp"
#include "tls/pairs.hpp"

#include <chrono>
#include <stdexcept>
#include <vector>

#include <sys/socket.h>

using sley::wait_group;
using sley::net::tls_context;
using sley::net::tls_errc;
using sley::net::tls_stream;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::connect_tcp;
using sley_test::connect_tls;
using sley_test::connected_tls;
using sley_test::let_others_run;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::server_options;
using sley_test::shake_hands;
using sley_test::tcp_pair;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;
using namespace std::chrono_literals;

namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

// ---- ends ----

GO_TEST(tls_endings, half_closes) {
  const tls_pair c = connected_tls();
  sley_test::expect_half_closes(c);
  std::error_code error;
  c.client.shutdown_write(error);
  EXPECT_FALSE(error);
}

GO_TEST(tls_endings, closing_announces_the_end) {
  tls_pair c = connected_tls();
  c.client.write_all(bytes_of("last words"));
  c.client.close();
  EXPECT_FALSE(c.client.is_open());
  EXPECT_EQ(read_to_end(c.server), "last words");
  EXPECT_EQ(read_error(c.client), std::errc::operation_canceled);
  std::error_code error;
  c.client.write_some(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::operation_canceled);
}

GO_TEST(tls_endings, destroying_announces_the_end) {
  tls_pair c = connected_tls();
  c.client.write_all(bytes_of("last words"));
  c.client = {};
  EXPECT_EQ(read_to_end(c.server), "last words");
}

// An attacker between the two may have cut the connection.
GO_TEST(tls_endings, an_end_that_was_not_announced_is_an_error) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("half of it"));
  ::shutdown(c.client.native_handle(), SHUT_WR);
  EXPECT_EQ(read_exactly(c.server, 10), "half of it");
  EXPECT_EQ(read_error(c.server), tls_errc::truncated);
  EXPECT_EQ(read_error(c.server), tls_errc::truncated);
  EXPECT_NE(read_error(c.server), tls_errc::failed);
}

// The same with the data and the cut in one: bytes that have come count before the error.
GO_TEST(tls_endings, bytes_that_came_before_the_cut_are_read) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("half of it"));
  ::shutdown(c.client.native_handle(), SHUT_WR);
  std::error_code error;
  std::array<std::byte, 100> buffer;
  EXPECT_EQ(c.server.read_exactly(buffer, error), 10U);
  EXPECT_EQ(error, tls_errc::truncated);
}

GO_TEST(tls_endings, read_exactly_tells_a_stream_that_ends_too_soon) {
  sley_test::expect_read_exactly_tells_a_stream_that_ends_too_soon(connected_tls());
}

GO_TEST(tls_endings, close_wakes_a_reader_that_waits) {
  for (const bool after_handshake : {false, true}) {
    tls_pair c = connect_tls(usual_client(), usual_server());
    if (after_handshake) shake_hands(c);
    wait_group group;
    group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::operation_canceled); });
    let_others_run();
    c.server.close();
    group.wait();
  }
}

GO_TEST(tls_endings, close_wakes_a_writer_that_waits) {
  tls_pair c = connected_tls();
  wait_group group;
  group.go([&] {
    std::error_code error;
    c.client.write_all(std::vector<std::byte>(50'000'000), error);
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
  let_others_run();
  c.client.close();
  group.wait();
}

// The writer waits for a peer that does not read, and that does not hold up the reader.
GO_TEST(tls_endings, a_writer_that_waits_does_not_hold_up_a_reader) {
  const tls_pair c = connected_tls();
  wait_group group;
  group.go([&] {
    std::error_code error;
    c.client.write_all(std::vector<std::byte>(50'000'000), error);
    EXPECT_TRUE(error);
  });
  let_others_run();
  for (int i = 0; i < 10; ++i) {
    c.server.write_all(bytes_of("hello"));
    EXPECT_EQ(read_exactly(c.client, 5), "hello");
  }
  c.client.set_write_deadline(now() - 1s);
  group.wait();
}

GO_TEST(tls_endings, a_reader_that_waits_does_not_hold_up_a_writer) {
  const tls_pair c = connected_tls();
  wait_group group;
  group.go([&] { EXPECT_EQ(read_exactly(c.client, 5), "at it"); });
  let_others_run();
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.server, 5), "hello");
  c.server.write_all(bytes_of("at it"));
  group.wait();
}

// ---- deadlines ----

GO_TEST(tls_endings, a_deadline_ends_a_handshake_with_a_silent_peer) {
  tcp_pair c = connect_tcp();
  const tls_stream client(std::move(c.client), usual_client(), "localhost");
  client.set_deadline(now() + 20ms);
  std::error_code error;
  client.handshake(error);
  EXPECT_EQ(error, std::errc::timed_out);
}

GO_TEST(tls_endings, connect_gives_up_at_its_deadline) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");  // never says a word
  std::error_code error;
  const auto limit = sley::with_timeout(sley::context::background(), 30ms);
  const auto s =
      tls_stream::connect(listener.local().to_string(), usual_client(), limit.first, error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_FALSE(s.is_open());
}

GO_TEST(tls_endings, a_deadline_ends_a_read_and_the_next_goes_on) {
  const tls_pair c = connected_tls();
  const auto start = now();
  c.server.set_read_deadline(start + 20ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);
  EXPECT_GE(now() - start, 20ms);
  c.client.write_all(bytes_of("x"));
  c.server.set_read_deadline(sley::time_point::max());
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

GO_TEST(tls_endings, a_write_that_timed_out_is_the_last) {
  const tls_pair c = connected_tls();
  c.client.set_write_deadline(now() + 20ms);
  const std::vector<std::byte> much(50'000'000);
  std::error_code error;
  EXPECT_LT(c.client.write_all(much, error), much.size());
  EXPECT_EQ(error, std::errc::timed_out);
  c.client.set_write_deadline(sley::time_point::max());
  c.client.write_all(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::timed_out);
}

// ---- strangers and misuse ----

GO_TEST(tls_endings, a_peer_that_does_not_speak_tls_is_an_error) {
  tcp_pair c = connect_tcp();
  const tls_stream client(std::move(c.client), usual_client(), "localhost");
  c.server.write_all(bytes_of("220 smtp.example.org at your service\r\n"));
  std::error_code error;
  client.handshake(error);
  EXPECT_EQ(error, tls_errc::failed) << error.message();
  EXPECT_EQ(error.category(), sley::net::tls_category());
  EXPECT_FALSE(error.message().empty());
  std::error_code again;
  client.handshake(again);
  EXPECT_EQ(again, error);
}

GO_TEST(tls_endings, a_stream_that_never_was_is_an_error) {
  const tls_stream s;
  EXPECT_EQ(read_error(s), std::errc::bad_file_descriptor);
  EXPECT_FALSE(s.is_open());
  EXPECT_EQ(s.native_handle(), -1);
  EXPECT_THROW(s.local(), std::system_error);
}

GO_TEST(tls_endings, a_client_without_a_name_to_verify_is_misuse) {
  tcp_pair c = connect_tcp();
  EXPECT_THROW(tls_stream(std::move(c.client), usual_client()), std::logic_error);
  EXPECT_THROW(tls_stream(std::move(c.server), tls_context()), std::logic_error);
  EXPECT_THROW(sley::net::tls_listener::listen("127.0.0.1:0", tls_context()), std::logic_error);
}

GO_TEST(tls_endings, a_server_without_a_certificate_is_misuse) {
  EXPECT_THROW(tls_context::server({}), std::logic_error);
}

GO_TEST(tls_endings, settings_that_can_not_be_read_say_which) {
  auto options = client_options();
  options.trusted_pem.clear();
  options.trusted_file = "/nowhere/trusted.pem";
  try {
    tls_context::client(options);
    ADD_FAILURE() << "it has read it";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
    EXPECT_NE(std::string(e.what()).find("/nowhere/trusted.pem"), std::string::npos) << e.what();
  }
  std::error_code error;
  auto wrong_key = server_options();
  wrong_key.key_pem = sley_test::self_signed().key;
  EXPECT_FALSE(tls_context::server(wrong_key, error));
  EXPECT_EQ(error, tls_errc::failed) << error.message();
  wrong_key.key_pem = "no key at all";
  EXPECT_FALSE(tls_context::server(wrong_key, error));
  EXPECT_TRUE(error);
}
