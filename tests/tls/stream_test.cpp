// TLS streams: what goes through them. Both ends are here, with certificates made for the occasion.
#include "support/harness.hpp"
#include "support/stream_promises.hpp"
#include "tls/pairs.hpp"

#include <sley/buffered.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

using sley::wait_group;
using sley::net::tls_context;
using sley::net::tls_stream;
using sley::net::tls_version;
using sley_test::bytes_of;
using sley_test::client_options;
using sley_test::connect_tls;
using sley_test::connected_tls;
using sley_test::random_source;
using sley_test::read_exactly;
using sley_test::rounds;
using sley_test::shake_hands;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;

namespace {

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

// New keys while both ends write more than all buffers hold: a goroutine that reads or writes sends
// the answers to that.
GO_TEST(tls, keys_change_while_both_ends_write) {
  const tls_pair c = connected_tls();
  const auto bytes = random_bytes(1'000'000, 3);
  wait_group group;
  for (const auto& [from, to] :
       {std::pair(&c.client, &c.server), std::pair(&c.server, &c.client)}) {
    group.go([&bytes, sender = from] { sender->write_all(bytes); });
    group.go([&bytes, receiver = to] {
      EXPECT_EQ(read_exactly(*receiver, bytes.size()).size(), bytes.size());
    });
  }
  group.wait();
  for (int i = 0; i < 3; ++i) {
    // No other goroutine uses the stream now, as native_tls() asks for.
    EXPECT_EQ(::SSL_key_update(c.client.native_tls(), SSL_KEY_UPDATE_REQUESTED), 1);
    wait_group both;
    both.go([&] { c.client.write_all(bytes); });
    both.go([&] { EXPECT_EQ(read_exactly(c.server, bytes.size()).size(), bytes.size()); });
    both.go([&] { c.server.write_all(bytes); });
    both.go([&] { EXPECT_EQ(read_exactly(c.client, bytes.size()).size(), bytes.size()); });
    both.wait();
  }
}

GO_TEST(tls, lines_and_text_go_both_ways) {
  const tls_pair p = connected_tls();
  wait_group group;
  group.go([&] {
    sley::buffered_reader in(p.server);
    sley::buffered_writer out(p.server);
    for (std::string line; in.read_line(line);) {
      out.write_all(line + '\n');
      if (in.buffered().empty()) out.flush();
    }
    out.write_all("bye\n");
    out.flush();
    p.server.shutdown_write();
  });
  p.client.write_all("one\r\ntwo");
  EXPECT_EQ(p.client.write_some("\n"), 1U);
  sley::buffered_reader in(p.client);
  EXPECT_EQ(in.read_line(), "one");
  EXPECT_EQ(in.read_line(), "two");
  p.client.shutdown_write();
  EXPECT_EQ(in.read_line(), "bye");
  EXPECT_EQ(in.read_line(), std::nullopt);
  group.wait();
}
// The peer's word that it has sent all is missing, so the last line may be cut.
GO_TEST(tls, a_line_that_an_unannounced_end_cuts_is_no_line) {
  tls_pair p = connected_tls();
  p.client.write_all("whole\nhal");
  p.client.abort();
  sley::buffered_reader in(p.server);
  std::string line;
  std::error_code error;
  while (in.read_line(line, error)) EXPECT_EQ(line, "whole");
  EXPECT_TRUE(error);
}

GO_TEST(tls, gathers_and_scatters) { sley_test::expect_gathers_and_scatters(connected_tls()); }
GO_TEST(tls, reads_and_writes_some_of_many_buffers) {
  const auto c = connected_tls();
  sley_test::expect_some_of_many_buffers(c.client, c.server);
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
  sley_test::expect_a_read_without_room_is_not_the_end(connected_tls());
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
