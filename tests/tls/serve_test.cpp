// net::serve with a tls_listener: handshakes in the connection's goroutine, and how they end.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "tls/certificates.hpp"

#include <sley/serve.hpp>
#include <sley/sync.hpp>
#include <sley/tls.hpp>

#include <chrono>
#include <string>
#include <system_error>

using sley::context;
using sley::context_errc;
using sley::net::serve;
using sley::net::serve_options;
using sley::net::serve_result;
using sley::net::tcp_stream;
using sley::net::tls_context;
using sley::net::tls_listener;
using sley::net::tls_stream;
using sley_test::read_exactly;
using sley_test::read_to_end;
using namespace std::chrono_literals;

namespace {

class running {
 public:
  template <class Handler>
  explicit running(Handler handler, serve_options options = {}) : options_(std::move(options)) {
    auto listener =
        tls_listener::listen("127.0.0.1:0", tls_context::server(sley_test::server_options()));
    address = listener.local().to_string();
    group_.go([this, handler, l = std::move(listener)]() mutable {
      result_ = serve(l, ctx_, handler, options_);
    });
  }
  ~running() { end(); }
  tls_stream connect() const {
    return tls_stream::connect(address, tls_context::client(sley_test::client_options()));
  }
  serve_result end() {
    cancel_();
    group_.wait();
    return result_;
  }
  std::string address;

 private:
  std::pair<context, sley::cancel_function> made_ = sley::with_cancel(context::background());
  const context& ctx_ = made_.first;
  const sley::cancel_function& cancel_ = made_.second;
  const serve_options options_;
  serve_result result_;
  sley::wait_group group_;
};

}  // namespace

GO_TEST(tls_serve, the_handshake_is_over_when_the_handler_is_called) {
  running server([](tls_stream s) {
    EXPECT_EQ(s.version(), "TLSv1.3");
    s.write_all("hello");
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_exactly(server.connect(), 5), "hello");
  EXPECT_EQ(server.end().accepted, 3U);
}

GO_TEST(tls_serve, a_silent_client_holds_up_no_other_and_is_dropped) {
  // Time for the handshake of a good client, on a slow machine too.
  const sley::time_span timeout = sley_test::under_sanitizer ? 5s : 1s;
  running server([](tls_stream& s) { s.write_all("hello"); }, {.handshake_timeout = timeout});
  const auto silent = tcp_stream::connect(server.address);
  EXPECT_EQ(read_exactly(server.connect(), 5), "hello");
  EXPECT_EQ(read_to_end(silent), "");
  EXPECT_EQ(server.end().failed, 0U);
}

GO_TEST(tls_serve, the_context_ends_handshakes_and_reads) {
  running server([](tls_stream& s, const context& ctx) {
    s.write_all("x");
    std::error_code error;
    std::byte room[1];
    s.read_some(room, error);
    EXPECT_EQ(error, context_errc::canceled);
    EXPECT_EQ(ctx.error(), context_errc::canceled);
  });
  const auto silent = tcp_stream::connect(server.address);
  const auto good = server.connect();
  EXPECT_EQ(read_exactly(good, 1), "x");
  const serve_result r = server.end();
  EXPECT_EQ(r.reason, context_errc::canceled);
  EXPECT_EQ(r.failed, 0U);
}
