// HTTP: a server and a client for each lap. Every answer is the one to its request, and requests
// that are given up, late or cut leave neither goroutine nor connection behind.
#include "soak/soak.hpp"
#include "support/web.hpp"
#include "support/websocket_client.hpp"

#include <sley/http.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

using sley::wait_group;
using sley::http::client;
using sley::http::client_options;
using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley_test::bytes_of;
using sley_test::random_source;
using sley_test::running_server;
using soak::count;
using soak::tally;
using namespace std::chrono_literals;
namespace ws = sley_test::websocket_client;

namespace {

std::string any_text(random_source& random) {
  std::string text(1 + random.below(random.one_in(10) ? 200'000 : 2000), '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

// Each client asks for some answers over connections that it keeps.
template <class Ask>
void ask_often(random_source& random, const client_options& options, Ask ask) {
  client asking(options);
  wait_group group;
  for (auto clients = 1 + random.below(10); clients > 0; --clients) {
    group.go([&, own = random_source(random())]() mutable {
      for (auto requests = 1 + own.below(10); requests > 0; --requests) ask(asking, own);
      count(tally::connections);
    });
  }
  group.wait();
}

// More goroutines than connections: some wait for one. Some answers are dropped unread.
void keep_connections(random_source& random) {
  const running_server server(&sley_test::echo_body, {.trace = random.one_in(2)});
  const std::string url = "http://" + server.address + "/";
  const client_options options{.connections_per_host = 1 + random.below(8)};
  ask_often(random, options, [&url](client& asking, random_source& own) {
    const std::string text = any_text(own);
    auto answer = asking.post(url, "text/plain", text);
    EXPECT_EQ(answer.status(), 200);
    if (own.one_in(8)) return;
    EXPECT_TRUE(answer.read_all() == text) << text.size() << " bytes";
    count(tally::stream_bytes, text.size());
  });
}

// Waits until its peer has gone away.
void wait_for_the_end(request& in, response&) { in.context().done().receive(); }

// Requests that the client gives up at any time, by its context or by a deadline of its own.
void give_up(random_source& random) {
  const running_server server(&wait_for_the_end);
  const std::string url = "http://" + server.address + "/";
  const client_options options{.header_timeout = 1ms + random.below(3000) * 1us};
  ask_often(random, options, [&url](client& asking, random_source& own) {
    const auto [ctx, cancel] = sley::with_cancel({});
    wait_group canceling;
    if (own.one_in(2)) {
      canceling.go([end = cancel, time = own.below(2000) * 1us] {
        sley::this_goroutine::sleep_for(time);
        end();
      });
    }
    std::error_code error;
    asking.get(url, ctx, error);
    EXPECT_TRUE(error == std::errc::timed_out || error == std::errc::operation_canceled) << error;
    canceling.wait();
    count(tally::contexts);
  });
}

// A handler that takes about as long as the server lets it: each client gets 503 or the answer.
void be_late(random_source& random) {
  const auto answer = [](request& in, response& out) {
    const auto [ctx, cancel] = sley::with_timeout(in.context(), 2ms);
    ctx.done().receive();
    out.send(200, "text/plain", "late");
  };
  const running_server server(answer, {.handler_timeout = 1ms + random.below(2000) * 1us});
  const std::string url = "http://" + server.address + "/";
  ask_often(random, {}, [&url](client& asking, random_source&) {
    const int status = asking.get(url).status();
    EXPECT_TRUE(status == 200 || status == 503) << status;
    count(tally::timers);
  });
}

// Peers stop in the middle of a request or after one, and leave or stay until the server cuts them
// off.
void drop_connections(random_source& random) {
  const running_server server(&sley_test::hello, {.header_timeout = 5ms, .idle_timeout = 5ms});
  wait_group group;
  for (auto peers = 1 + random.below(20); peers > 0; --peers) {
    group.go([&server, own = random_source(random())]() mutable {
      const auto s = server.connect();
      std::error_code error;
      const std::string asked = sley_test::get("/");
      s.write_all(bytes_of(asked).first(own.below(asked.size() + 1)), error);
      const bool stays = own.one_in(2);
      std::array<std::byte, 4096> buffer{};
      while (stays && !error && s.read_some(buffer, error) != 0) {
      }
      if (!own.one_in(8)) s.set_linger(0s);  // else it occupies its port for a minute
      count(tally::connections);
    });
  }
  group.wait();
}

// --- WebSocket -----------------------------------------------------------------------------------

void echo_messages(request& in, response& out) {
  websocket socket = websocket::accept(in, out);
  std::error_code error;
  while (const auto m = socket.read(error)) {
    socket.write_text(m->data, error);
  }
}

// Some peers close properly, and the others are gone all at once.
void exchange_messages(random_source& random) {
  const running_server server(&echo_messages);
  wait_group group;
  for (auto peers = 1 + random.below(10); peers > 0; --peers) {
    group.go([&server, own = random_source(random())]() mutable {
      const auto s = server.connect();
      s.write_all(bytes_of(sley_test::get("/", ws::upgrade)));
      EXPECT_EQ(sley_test::status_of(sley_test::read_head(s)), 101);
      for (auto messages = own.below(20); messages > 0; --messages) {
        const std::string text = any_text(own).substr(0, 60'000);
        s.write_all(bytes_of(ws::frame(ws::text_frame, text)));
        EXPECT_TRUE(ws::receive(s).payload == text) << text.size() << " bytes";
        count(tally::stream_bytes, text.size());
      }
      if (!own.one_in(4)) {
        s.write_all(bytes_of(ws::frame(ws::close_frame, "")));
        EXPECT_EQ(ws::receive(s).first_byte, ws::close_frame);
      }
      count(tally::connections);
    });
  }
  group.wait();
}

}  // namespace

SOAK_LAP(http_kept) { keep_connections(random); }
SOAK_LAP(http_given_up) { give_up(random); }
SOAK_LAP(http_late) { be_late(random); }
SOAK_LAP(http_dropped) { drop_connections(random); }
SOAK_LAP(http_messages) { exchange_messages(random); }
