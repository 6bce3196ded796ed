// TLS streams: what goes through them, deadlines and ends. Both ends are here, with certificates
// made for the occasion; where the other end must misbehave it is a plain TCP stream.
#include "support/harness.hpp"
#include "tls/pairs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

using sley::wait_group;
using sley::net::tls_context;
using sley::net::tls_errc;
using sley::net::tls_stream;
using sley::net::tls_version;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::connect_tcp;
using sley_test::connect_tls;
using sley_test::connected_tls;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::server_options;
using sley_test::shake_hands;
using sley_test::tcp_pair;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;
using namespace std::chrono_literals;

namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t stream) {
  std::vector<std::byte> bytes(size);
  random_source random(stream);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

// Sends `bytes` one way in pieces of all sizes, and reads them in others.
void expect_arrives(const tls_stream& from, const tls_stream& to,
                    const std::vector<std::byte>& bytes) {
  wait_group group;
  group.go([&] {
    random_source random(7);
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random.below(200'000), bytes.size() - done);
      from.write_all(std::span(bytes).subspan(done, n));
      done += n;
    }
  });
  std::vector<std::byte> got(bytes.size());
  random_source random(8);
  for (std::size_t done = 0; done < got.size();) {
    const std::size_t room = std::min<std::size_t>(1 + random.below(100'000), got.size() - done);
    const std::size_t n = to.read_some(std::span(got).subspan(done, room));
    ASSERT_GT(n, 0U);
    done += n;
  }
  group.wait();
  EXPECT_TRUE(got == bytes);
}

}  // namespace

GO_TEST(tls, carries_bytes_both_ways) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.server, 5), "hello");
  c.server.write_all(bytes_of("world"));
  EXPECT_EQ(read_exactly(c.client, 5), "world");
  EXPECT_EQ(c.client.remote(), c.server.local());
  EXPECT_EQ(c.client.version(), "TLSv1.3");
  EXPECT_EQ(c.client.cipher(), c.server.cipher());
  EXPECT_EQ(c.server.server_name(), "localhost");
}

GO_TEST(tls, the_first_read_and_write_make_the_handshake) {
  const tls_pair c = connect_tls(usual_client(), usual_server());
  EXPECT_EQ(c.client.version(), "");
  wait_group group;
  group.go([&] { EXPECT_EQ(read_exactly(c.server, 5), "hello"); });
  c.client.write_all(bytes_of("hello"));
  group.wait();
  EXPECT_EQ(c.server.version(), "TLSv1.3");
}

// All four would make the handshake; none may be waited for by all others.
GO_TEST(tls, readers_and_writers_of_both_ends_share_a_handshake) {
  for (int i = 0; i < rounds(20); ++i) {
    const tls_pair c = connect_tls(usual_client(), usual_server());
    wait_group group;
    for (const auto* s : {&c.client, &c.server}) {
      group.go([s] { EXPECT_EQ(read_exactly(*s, 5), "hello"); });
      group.go([s] { s->write_all(bytes_of("hello")); });
    }
    group.wait();
  }
}

GO_TEST(tls, carries_much_both_ways_at_once) {
  for (const auto version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
    auto options = client_options();
    options.max_version = version;
    const tls_pair c = connect_tls(tls_context::client(options), usual_server());
    shake_hands(c);
    const std::size_t size = sley_test::under_sanitizer ? 1'000'000 : 8'000'000;
    const auto there = random_bytes(size, 1);
    const auto back = random_bytes(size, 2);
    wait_group group;
    group.go([&] { expect_arrives(c.client, c.server, there); });
    group.go([&] { expect_arrives(c.server, c.client, back); });
    group.wait();
    EXPECT_EQ(c.client.version(), version == tls_version::tls_1_2 ? "TLSv1.2" : "TLSv1.3");
  }
}

// New keys while both ends write more than all buffers hold: the answers to that are sent by who
// is reading, or by who is writing.
GO_TEST(tls, keys_change_while_both_ends_write) {
  const tls_pair c = connected_tls();
  const auto bytes = random_bytes(1'000'000, 3);
  wait_group group;
  for (const auto& [from, to] :
       {std::pair(&c.client, &c.server), std::pair(&c.server, &c.client)}) {
    group.go([&bytes, from = from] { from->write_all(bytes); });
    group.go(
        [&bytes, to = to] { EXPECT_EQ(read_exactly(*to, bytes.size()).size(), bytes.size()); });
  }
  group.wait();
  for (int i = 0; i < 3; ++i) {
    // Nobody else is at it, as native_tls() asks for.
    EXPECT_EQ(::SSL_key_update(c.client.native_tls(), SSL_KEY_UPDATE_REQUESTED), 1);
    wait_group both;
    both.go([&] { c.client.write_all(bytes); });
    both.go([&] { EXPECT_EQ(read_exactly(c.server, bytes.size()).size(), bytes.size()); });
    both.go([&] { c.server.write_all(bytes); });
    both.go([&] { EXPECT_EQ(read_exactly(c.client, bytes.size()).size(), bytes.size()); });
    both.wait();
  }
}

GO_TEST(tls, gathers_and_scatters) {
  const tls_pair c = connected_tls();
  std::vector<std::string> parts;
  std::string whole;
  std::vector<iovec> buffers;
  for (std::size_t i = 0; i < 3000; ++i) {
    parts.emplace_back(i % 97 == 0 ? 9000 : i % 7, static_cast<char>('a' + i % 26));
  }
  for (std::string& part : parts) {
    whole += part;
    buffers.push_back({part.data(), part.size()});
  }
  wait_group group;
  group.go([&] {
    std::error_code error;
    EXPECT_EQ(c.client.write_all(buffers, error), whole.size());
    EXPECT_FALSE(error);
    c.client.write_all(bytes_of("headbody"));
  });
  EXPECT_EQ(read_exactly(c.server, whole.size()), whole);
  char head[4], body[4];
  const iovec places[] = {{head, sizeof head}, {body, sizeof body}};
  std::error_code error;
  EXPECT_EQ(c.server.read_some(places, error), 8U);
  EXPECT_EQ(std::string(head, 4) + std::string(body, 4), "headbody");
  group.wait();
}

// A message of many small buffers is one record: the reader gets it whole.
GO_TEST(tls, small_buffers_share_a_record) {
  const tls_pair c = connected_tls();
  std::string text = "0123456789";
  std::vector<iovec> buffers;
  for (char& digit : text) buffers.push_back({&digit, 1});
  std::error_code error;
  c.client.write_all(buffers, error);
  char got[20];
  EXPECT_EQ(c.server.read_some(std::as_writable_bytes(std::span(got))), 10U);
}

GO_TEST(tls, writers_take_turns) {
  const tls_pair c = connected_tls();
  constexpr std::size_t size = 100'000;
  wait_group group;
  for (const char letter : {'a', 'b', 'c'}) {
    group.go([&c, letter] { c.client.write_all(bytes_of(std::string(size, letter))); });
  }
  for (int i = 0; i < 3; ++i) {
    const std::string got = read_exactly(c.server, size);
    EXPECT_EQ(got, std::string(size, got.front()));
  }
  group.wait();
}

GO_TEST(tls, a_read_without_room_is_not_the_end) {
  const tls_pair c = connected_tls();
  EXPECT_EQ(c.server.read_some({}), 0U);
  c.client.write_all(bytes_of("x"));
  EXPECT_EQ(c.server.read_some({}), 0U);
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

// ---- ends ----

GO_TEST(tls, half_closes) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("question"));
  c.client.shutdown_write();
  EXPECT_EQ(read_to_end(c.server), "question");
  EXPECT_EQ(read_to_end(c.server), "");  // as often as one likes
  c.server.write_all(bytes_of("answer"));
  EXPECT_EQ(read_exactly(c.client, 6), "answer");
  std::error_code error;
  EXPECT_EQ(c.client.write_all(bytes_of("x"), error), 0U);
  EXPECT_EQ(error, std::errc::broken_pipe);
  c.client.shutdown_write(error);
  EXPECT_FALSE(error);
}

GO_TEST(tls, closing_announces_the_end) {
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

GO_TEST(tls, destroying_announces_the_end) {
  tls_pair c = connected_tls();
  c.client.write_all(bytes_of("last words"));
  c.client = {};
  EXPECT_EQ(read_to_end(c.server), "last words");
}

// Somebody between the two may have cut the connection.
GO_TEST(tls, an_end_that_was_not_announced_is_an_error) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("half of it"));
  ::shutdown(c.client.native_handle(), SHUT_WR);
  EXPECT_EQ(read_exactly(c.server, 10), "half of it");
  EXPECT_EQ(read_error(c.server), tls_errc::truncated);
  EXPECT_EQ(read_error(c.server), tls_errc::truncated);
  EXPECT_NE(read_error(c.server), tls_errc::failed);
}

// The same with the data and the cut in one: what has come counts before the error.
GO_TEST(tls, what_came_before_the_cut_is_read) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("half of it"));
  ::shutdown(c.client.native_handle(), SHUT_WR);
  std::error_code error;
  std::array<std::byte, 100> buffer;
  EXPECT_EQ(c.server.read_exactly(buffer, error), 10U);
  EXPECT_EQ(error, tls_errc::truncated);
}

GO_TEST(tls, read_exactly_tells_a_stream_that_ends_too_soon) {
  tls_pair c = connected_tls();
  c.client.write_all(bytes_of("abc"));
  c.client.close();
  std::array<std::byte, 5> buffer;
  std::error_code error;
  EXPECT_EQ(c.server.read_exactly(buffer, error), 3U);
  EXPECT_EQ(error, std::errc::connection_aborted);
}

GO_TEST(tls, close_wakes_a_reader_that_waits) {
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

GO_TEST(tls, close_wakes_a_writer_that_waits) {
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

// The writer waits for a peer that does not read, and that holds up nobody.
GO_TEST(tls, a_writer_that_waits_does_not_hold_up_a_reader) {
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

GO_TEST(tls, a_reader_that_waits_does_not_hold_up_a_writer) {
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

GO_TEST(tls, a_deadline_ends_a_handshake_with_who_is_silent) {
  tcp_pair c = connect_tcp();
  const tls_stream client(std::move(c.client), usual_client(), "localhost");
  client.set_deadline(now() + 20ms);
  std::error_code error;
  client.handshake(error);
  EXPECT_EQ(error, std::errc::timed_out);
}

GO_TEST(tls, connect_gives_up_at_its_deadline) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");  // never says a word
  std::error_code error;
  const auto limit = sley::with_timeout(sley::context::background(), 30ms);
  const auto s =
      tls_stream::connect(listener.local().to_string(), usual_client(), limit.first, error);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_FALSE(s.is_open());
}

GO_TEST(tls, a_deadline_ends_a_read_and_the_next_goes_on) {
  const tls_pair c = connected_tls();
  const auto start = now();
  c.server.set_read_deadline(start + 20ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);
  EXPECT_GE(now() - start, 20ms);
  c.client.write_all(bytes_of("x"));
  c.server.set_read_deadline(sley::time_point::max());
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

GO_TEST(tls, a_write_that_timed_out_is_the_last) {
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

GO_TEST(tls, a_peer_that_does_not_speak_tls_is_an_error) {
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

GO_TEST(tls, a_stream_that_never_was_is_an_error) {
  const tls_stream s;
  EXPECT_EQ(read_error(s), std::errc::bad_file_descriptor);
  EXPECT_FALSE(s.is_open());
  EXPECT_EQ(s.native_handle(), -1);
  EXPECT_THROW(s.local(), std::system_error);
}

GO_TEST(tls, a_client_without_a_name_to_verify_is_misuse) {
  tcp_pair c = connect_tcp();
  EXPECT_THROW(tls_stream(std::move(c.client), usual_client()), std::logic_error);
  EXPECT_THROW(tls_stream(std::move(c.server), tls_context()), std::logic_error);
  EXPECT_THROW(sley::net::tls_listener::listen("127.0.0.1:0", tls_context()), std::logic_error);
}

GO_TEST(tls, a_server_without_a_certificate_is_misuse) {
  EXPECT_THROW(tls_context::server({}), std::logic_error);
}

GO_TEST(tls, runs_over_unix_streams_as_well) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const tls_stream client(sley::net::unix_stream{ends[0]}, usual_client(), "localhost");
  const tls_stream server(sley::net::unix_stream{ends[1]}, usual_server());
  wait_group group;
  group.go([&] { EXPECT_EQ(read_exactly(server, 5), "hello"); });
  client.write_all(bytes_of("hello"));
  group.wait();
}

GO_TEST(tls, settings_that_can_not_be_read_say_which) {
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

// ---- many at once ----

GO_TEST(tls, serves_many_connections_at_once) {
  auto listener = sley::net::tls_listener::listen("127.0.0.1:0", usual_server());
  const std::string where = listener.local().to_string();
  wait_group servers;
  servers.go([&] {
    for (;;) {
      std::error_code error;
      auto s = std::make_shared<tls_stream>(listener.accept(error));
      if (error) return;
      servers.go([s] {
        std::array<std::byte, 512> buffer;
        std::error_code e;
        while (const std::size_t n = s->read_some(buffer, e)) {
          s->write_all(std::span(buffer).first(n));
        }
        EXPECT_FALSE(e) << e.message();
      });
    }
  });
  wait_group clients;
  for (int i = 0; i < rounds(100); ++i) {
    clients.go([&where, i] {
      const auto s = tls_stream::connect(where, usual_client());
      for (int k = 0; k < 10; ++k) {
        const std::string text = std::to_string(1'000'000 + i * 100 + k);
        s.write_all(bytes_of(text));
        EXPECT_EQ(read_exactly(s, text.size()), text);
      }
    });
  }
  clients.wait();
  listener.close();
  servers.wait();
}

FOREIGN_TEST(tls, works_on_threads_of_others) {
  const tls_pair c = connected_tls();
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.server, 5), "hello");
}
