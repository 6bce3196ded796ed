// access_record::time_to_first_byte: how long a client has waited for an answer to begin. Each
// handler waits before or behind that moment, so the wait must be in the one time or in the rest of
// the other.
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <sley/debug.hpp>
#include <sley/http/websocket.hpp>
#include <sley/os.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using sley::http::access_record;
using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley::this_goroutine::sleep_for;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

namespace {

constexpr auto a_while = 20ms;

struct times {
  std::chrono::nanoseconds to_first_byte;
  std::chrono::nanoseconds all;
  int status;

  std::chrono::nanoseconds after_first_byte() const { return all - to_first_byte; }
};

// A server, and what its log has of the first request.
struct logging_server {
  explicit logging_server(sley::http::handler h, sley::http::server_options options = {})
      : web(std::move(h), with_log(std::move(options))) {}

  sley::http::server_options with_log(sley::http::server_options options) const {
    options.access_log = [log = log](const access_record& r) {
      log.try_send({r.time_to_first_byte, r.duration, r.status});
    };
    return options;
  }

  const sley::chan<times> log{1};
  const running_server web;
};

times logged(sley::http::handler h, std::string_view request) {
  const logging_server s(std::move(h));
  s.web.exchange(request);
  return *s.log.receive();
}

}  // namespace

GO_TEST(time_to_first_byte, ends_when_the_head_goes_out) {
  const times t = logged(
      [](request&, response& out) {
        sleep_for(a_while);
        out.write("begin");
        out.flush();
        sleep_for(a_while);
        out.write(" and end");
        out.flush();
        sleep_for(a_while);
      },
      get("/"));
  EXPECT_GE(t.to_first_byte, a_while);
  EXPECT_GE(t.after_first_byte(), 2 * a_while);
}

GO_TEST(time_to_first_byte, is_all_of_the_handler_if_the_answer_waits_for_its_end) {
  const times t = logged(
      [](request&, response& out) {
        out.send(200, "text/plain", "hello");
        sleep_for(a_while);
      },
      get("/"));
  EXPECT_GE(t.to_first_byte, a_while);
  EXPECT_GE(t.all, t.to_first_byte);
}

GO_TEST(time_to_first_byte, of_a_websocket_is_that_of_the_handshake) {
  const times t = logged(
      [](request& in, response& out) {
        sleep_for(a_while);
        websocket ws = websocket::accept(in, out);
        sleep_for(a_while);
        ws.close();
      },
      get("/",
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  EXPECT_EQ(t.status, 101);
  EXPECT_GE(t.to_first_byte, a_while);
  EXPECT_GE(t.after_first_byte(), a_while);
}

GO_TEST(time_to_first_byte, of_a_handler_that_is_late_ends_with_its_limit) {
  const sley::chan<void> has_answer;
  const logging_server s(
      [=](request&, response&) {
        has_answer.receive();
        sleep_for(a_while);
      },
      {.handler_timeout = a_while});
  const auto client = s.web.connect();
  client.write_all(bytes_of(get("/")));
  EXPECT_EQ(status_of(sley_test::read_head(client)), 503);
  has_answer.close();
  const times t = *s.log.receive();
  EXPECT_GE(t.to_first_byte, a_while);
  EXPECT_GE(t.after_first_byte(), a_while);
}

GO_TEST(time_to_first_byte, is_the_duration_if_nothing_is_sent) {
  const sley::chan<void> has_begun, is_gone;
  const logging_server s([=](request& in, response&) {
    has_begun.close();
    is_gone.receive();
    in.body().read_all();  // asks the client to go on
  });
  auto client = s.web.connect();
  client.write_all(bytes_of(sley_test::post("Content-Length: 1\r\nExpect: 100-continue\r\n", "")));
  has_begun.receive();
  client.abort();
  is_gone.close();
  const times t = *s.log.receive();
  EXPECT_EQ(t.to_first_byte, t.all);
  EXPECT_GT(t.all, 0ns);
}

GO_TEST(time_to_first_byte, is_nothing_if_the_request_is_not_understood) {
  const times t = logged(sley_test::hello, "bad\r\n\r\n");
  EXPECT_EQ(t.status, 400);
  EXPECT_EQ(t.to_first_byte, 0ns);
}

GO_TEST(time_to_first_byte, tells_a_flight_recorder_which_requests_are_slow) {
  const sley_test::temporary_folder folder;
  const std::string record = folder / "slow.json";
  const sley::debug::trace::flight_recorder recorder;
  const sley::chan<void> is_written(1);
  const running_server web([](request&, response&) { sleep_for(a_while); },
                           {.access_log = [&](const access_record& r) {
                             if (r.time_to_first_byte < a_while) return;
                             sley::debug::trace::log("slow: " + std::string(r.target));
                             recorder.write(record);
                             is_written.try_send();
                           }});
  web.exchange(get("/report"));
  is_written.receive();
  EXPECT_TRUE(sley_test::has(sley::os::read_file(record), "slow: /report"));
}
