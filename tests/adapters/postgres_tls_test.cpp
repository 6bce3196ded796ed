// <sley/postgres.hpp> over TLS, with a peer that sends large records.
#include "support/harness.hpp"

#include "adapters/postgres_peer.hpp"
#include "tls/certificates.hpp"

#include <sley/postgres.hpp>
#include <sley/tls.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace net = sley::net;
namespace postgres = sley::postgres;
using sley_test::read_exactly;
using namespace std::string_literals;

namespace {

std::string number(std::size_t n, int bytes) {
  std::string text;
  while (bytes-- > 0) text.push_back(static_cast<char>(n >> (8 * bytes)));
  return text;
}

// What a server says to a statement: a result of that many rows of about 1,000 bytes.
std::string answer_of(std::size_t rows) {
  const std::string row =
      "D" + number(1010, 4) + number(1, 2) + number(1000, 4) + std::string(1000, 'v');
  std::string answer =
      "1\0\0\0\4"
      "2\0\0\0\4"
      "T\0\0\0\x1a\0\1"
      "v\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"s;
  for (std::size_t i = 0; i < rows; ++i) answer += row;
  return answer +
         "C\0\0\0\7OK\0"
         "Z\0\0\0\5I"s;
}

// A session with one statement. Its answer comes in two pieces, so that libpq's buffer is neither
// empty nor full when a record of 16 KiB comes.
void serve(const net::tcp_listener& listener, const std::string& answer) {
  net::tcp_stream tcp = listener.accept();
  read_exactly(tcp, 8);  // an SSLRequest
  tcp.write_all("S");
  const net::tls_stream tls(std::move(tcp), net::tls_context::server(sley_test::server_options()));
  std::vector<std::byte> bytes(1 << 16);
  tls.read_some(bytes);
  tls.write_all(sley_test::postgres_greeting);
  tls.read_some(bytes);
  const std::size_t first = std::min<std::size_t>(answer.size(), 5000);
  tls.write_all(answer.substr(0, first));
  tls.write_all(answer.substr(first));
  tls.read_some(bytes);
}

}  // namespace

// libpq reads as much of a record as it has room for.
GO_TEST(postgres_tls, no_byte_of_a_record_is_waited_for_that_has_come) {
  const auto listener = net::tcp_listener::listen("127.0.0.1:0");
  const std::string conninfo = "user=a sslmode=require gssencmode=disable host=127.0.0.1 port=" +
                               std::to_string(listener.local().port());
  for (int rows = 0; rows < 50; ++rows) {
    sley::wait_group serving;
    serving.go([&] { serve(listener, answer_of(static_cast<std::size_t>(rows))); });
    {
      postgres::connection c = postgres::connection::connect({.conninfo = conninfo});
      EXPECT_EQ(PQsslInUse(c.native_handle()), 1);
      EXPECT_EQ(postgres::rows(*c.execute("select 1")), rows);
    }
    serving.wait();
  }
}
