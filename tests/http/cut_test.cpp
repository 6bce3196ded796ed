// An answer that is not complete must not look complete to the client, however it ends.
#include "support/web.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>

using sley::http::request;
using sley::http::response;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

struct ending {
  std::string text;
  std::error_code error;  // empty: the end of the stream
};

ending read_it(const tcp_stream& s) {
  ending e;
  std::byte buffer[4096];
  for (;;) {  // ends with the stream
    const std::size_t n = s.read_some(buffer, e.error);
    if (n == 0 || e.error) return e;
    e.text.append(reinterpret_cast<const char*>(buffer), n);
  }
}

ending ask(const running_server& web, std::string_view request) {
  const tcp_stream s = web.connect();
  s.write_all(bytes_of(request));
  return read_it(s);
}

void begin_and_fail(request& in, response& out) {
  out.write("part");
  out.flush();
  if (in.path() == "/exit") sley::this_goroutine::exit();
  throw std::runtime_error("oops");
}

const sley::http::server_options quiet = {.on_error = [](const request*, std::exception_ptr) {}};

std::string old_get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.0\r\n\r\n";
}

}  // namespace

// Only the end of the stream would tell the end of the body.
GO_TEST(cut, without_a_length_the_connection_is_reset) {
  const running_server web(&begin_and_fail, quiet);
  for (const char* target : {"/throw", "/exit"}) {
    const ending e = ask(web, old_get(target));
    EXPECT_TRUE(e.text.ends_with("part")) << e.text;
    EXPECT_EQ(e.error, std::errc::connection_reset) << target;
  }
}

GO_TEST(cut, with_chunks_their_end_is_missing) {
  const running_server web(&begin_and_fail, quiet);
  const ending e = ask(web, get("/throw"));
  EXPECT_TRUE(e.text.ends_with("4\r\npart\r\n")) << e.text;
  EXPECT_FALSE(e.error);
}

GO_TEST(cut, a_server_that_closes_resets_connections_under_way) {
  const sley::chan<void> begun;
  running_server web(
      [begun](request& in, response& out) {
        out.write("part");
        out.flush();
        begun.send();
        in.context().done().receive();
      },
      quiet);
  const tcp_stream s = web.connect();
  s.write_all(bytes_of(old_get("/")));
  begun.receive();
  web.server.close();
  const ending e = read_it(s);
  EXPECT_TRUE(e.text.ends_with("part")) << e.text;
  EXPECT_EQ(e.error, std::errc::connection_reset);
}

GO_TEST(cut, at_the_write_limit_the_connection_is_reset) {
  const sley::chan<void> ended;
  const running_server web(
      [ended](request&, response& out) {
        std::error_code error;
        out.write(std::string(32 << 20, 'x'), error);
        EXPECT_EQ(error, std::errc::timed_out);
        ended.close();
      },
      {.write_timeout = 50ms, .on_error = quiet.on_error});
  const tcp_stream s = web.connect();
  s.write_all(bytes_of(old_get("/")));
  ended.receive();
  EXPECT_EQ(read_it(s).error, std::errc::connection_reset);
}

GO_TEST(cut, a_complete_answer_ends_properly) {
  const running_server web([](request&, response& out) {
    out.write("all");
    out.flush();
  });
  const ending e = ask(web, old_get("/"));
  EXPECT_TRUE(e.text.ends_with("all")) << e.text;
  EXPECT_FALSE(e.error);
}
