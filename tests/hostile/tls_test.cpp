// Hostile arguments of <sley/tls.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"
#include "tls/pairs.hpp"

#include <sley/tls.hpp>

#include <sys/uio.h>

#define SLEY_HOSTILE_HEADER hostile_tls

namespace net = sley::net;
using sley_hostile::arguments;
using sley_hostile::ended_by;
using sley_hostile::use;
using sley_test::tls_pair;
using sley_test::usual_client;
using sley_test::usual_server;

namespace {

// One of them is extreme.
net::tls_options extreme_options(arguments& x, const net::tls_options& usual) {
  net::tls_options o = usual;
  const int which = x.pick<int>({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const auto pem = [&](const std::string& good) {
    // A good one with something hostile around it, or in the middle of it.
    const std::string text = x.string("");
    switch (x.pick<int>({0, 1, 2})) {
      case 0: return text;
      case 1: return good + text;
      default: return good.substr(0, good.size() / 2) + text + good.substr(good.size() / 2);
    }
  };
  if (which == 1) o.certificate_pem = pem(usual.certificate_pem);
  if (which == 2) o.key_pem = pem(usual.key_pem);
  if (which == 3) o.trusted_pem = pem(sley_test::the_authority().certificate());
  if (which == 4) o.certificate_file = x.string("");
  if (which == 5) o.trusted_file = x.string("");
  if (which == 6) o.alpn = {x.string("h2")};
  if (which == 7) {
    o.min_version = x.enumerator(net::tls_version::tls_1_2);
    o.max_version = x.enumerator(net::tls_version::tls_1_3);
  }
  if (which == 8) o.verify = x.enumerator(net::tls_verify::by_role);
  return o;
}

sley::context ended_context() {
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  cancel();
  return ctx;
}

// A port where nothing listens.
const std::string& a_port() {
  static const auto* const port = [] {
    auto listener = net::tcp_listener::listen("127.0.0.1:0");
    return new std::string(listener.local().to_string());
  }();
  return *port;
}

std::vector<iovec> extreme_buffers(arguments& x) {
  const std::span<std::byte> room = x.buffer();
  return std::vector<iovec>(x.pick<std::size_t>({1, 0, 1023, 1025, 5000}),
                            iovec{room.data(), room.size() > 100 ? 100 : room.size()});
}

sley::context a_context(arguments& x) {
  return x.pick<bool>({false, true}) ? ended_context() : sley::context::background();
}

// Its server sends some bytes, and then reads all that comes.
class talking_pair {
 public:
  talking_pair() : pair_(sley_test::connected_tls()) {
    peer_.go([this] {
      std::error_code error;
      pair_.server.write_all(sley_test::bytes_of("some bytes"), error);
      pair_.server.shutdown_write(error);
      std::byte buffer[4096];
      while (!error && pair_.server.read_some(buffer, error) > 0) {
      }
    });
  }
  ~talking_pair() {
    std::error_code ignored;
    pair_.client.close(ignored);
    peer_.wait();
  }
  net::tls_stream& client() { return pair_.client; }

 private:
  tls_pair pair_;
  sley::wait_group peer_;
};

}  // namespace

CALLS(condition, "net::make_error_condition(tls_errc kind)") {
  use(make_error_condition(x.enumerator(net::tls_errc::failed)).message());
}
CALLS(client, "net::tls_context::client(tls_options options)") {
  use(net::tls_context::client(extreme_options(x, sley_test::client_options())));
}
CALLS(client_error, "net::tls_context::client(tls_options options, error_code error)") {
  use(net::tls_context::client(extreme_options(x, sley_test::client_options()), x.error()));
}
CALLS(server, "net::tls_context::server(tls_options options)") {
  use(net::tls_context::server(extreme_options(x, sley_test::server_options())));
}
CALLS(server_error, "net::tls_context::server(tls_options options, error_code error)") {
  use(net::tls_context::server(extreme_options(x, sley_test::server_options()), x.error()));
}

CALLS(stream,
      "net::tls_stream::tls_stream(stream connection, tls_context context, string_view host)") {
  sley_test::tcp_pair p = sley_test::connect_tcp();
  const net::tls_context context =
      x.pick<bool>({true, false}) ? usual_client() : net::tls_context();
  net::stream connection =
      x.pick<bool>({true, false}) ? net::stream(std::move(p.client)) : net::stream();
  const net::tls_stream s(std::move(connection), context, x.text("localhost"));
  p.server.close();
  std::error_code error;
  s.handshake(error);
  EXPECT_TRUE(error);
}
CALLS(connect, "net::tls_stream::connect(string_view host_port)",
      "net::tls_stream::connect(string_view host_port, tls_context settings, context ctx)") {
  const std::string_view host_port = x.text(a_port());
  if (x.pick<bool>({false, true})) {
    use(net::tls_stream::connect(host_port));
  } else {
    use(net::tls_stream::connect(host_port, usual_client(), ended_context()));
  }
}
CALLS(connect_error,
      "net::tls_stream::connect(string_view host_port, tls_context settings, error_code error)",
      "net::tls_stream::connect(string_view host_port, tls_context settings, context ctx, "
      "error_code error)") {
  const std::string_view host_port = x.text(a_port());
  if (x.pick<bool>({false, true})) {
    use(net::tls_stream::connect(host_port, usual_client(), x.error()));
  } else {
    use(net::tls_stream::connect(host_port, usual_client(), ended_context(), x.error()));
  }
}

CALLS(read, "net::tls_stream::read_some(span<byte> buffer, context ctx)",
      "net::tls_stream::read_exactly(span<byte> buffer, context ctx)") {
  talking_pair p;
  const sley::context ctx = a_context(x);
  use(p.client().read_some(x.buffer(), ctx));
  p.client().read_exactly(x.buffer(), ctx);
}
CALLS(read_error, "net::tls_stream::read_some(span<byte> buffer, error_code error)",
      "net::tls_stream::read_some(span<iovec> buffers, error_code error)",
      "net::tls_stream::read_exactly(span<byte> buffer, error_code error)") {
  talking_pair p;
  std::error_code& error = x.error();
  use(p.client().read_some(x.buffer(), error));
  const std::vector<iovec> buffers = extreme_buffers(x);
  use(p.client().read_some(std::span<const iovec>(buffers), error));
  use(p.client().read_exactly(x.buffer(), error));
}
CALLS(read_with_a_context_error,
      "net::tls_stream::read_some(span<byte> buffer, context ctx, error_code error)",
      "net::tls_stream::read_some(span<iovec> buffers, context ctx, error_code error)",
      "net::tls_stream::read_exactly(span<byte> buffer, context ctx, error_code error)") {
  talking_pair p;
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  use(p.client().read_some(x.buffer(), ctx, error));
  const std::vector<iovec> buffers = extreme_buffers(x);
  use(p.client().read_some(std::span<const iovec>(buffers), ctx, error));
  use(p.client().read_exactly(x.buffer(), ctx, error));
}
CALLS(write, "net::tls_stream::write_some(span<byte> bytes, context ctx)",
      "net::tls_stream::write_all(span<byte> bytes, context ctx)") {
  talking_pair p;
  const sley::context ctx = a_context(x);
  use(p.client().write_some(x.bytes(), ctx));
  p.client().write_all(x.bytes(), ctx);
}
CALLS(write_text, "net::tls_stream::write_some(string_view text, context ctx)",
      "net::tls_stream::write_all(string_view text, context ctx)",
      "net::tls_stream::write_some(string_view text, error_code error)",
      "net::tls_stream::write_all(string_view text, error_code error)",
      "net::tls_stream::write_some(string_view text, context ctx, error_code error)",
      "net::tls_stream::write_all(string_view text, context ctx, error_code error)") {
  talking_pair p;
  const std::string_view text = x.text("text");
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  use(p.client().write_some(text, error));
  use(p.client().write_all(text, error));
  use(p.client().write_some(text, ctx, error));
  use(p.client().write_all(text, ctx, error));
  use(p.client().write_some(text, ctx));
  p.client().write_all(text, ctx);
}
CALLS(write_error, "net::tls_stream::write_some(span<byte> bytes, error_code error)",
      "net::tls_stream::write_some(span<iovec> buffers, error_code error)",
      "net::tls_stream::write_all(span<byte> bytes, error_code error)",
      "net::tls_stream::write_all(span<iovec> buffers, error_code error)") {
  talking_pair p;
  std::error_code& error = x.error();
  use(p.client().write_some(x.bytes(), error));
  use(p.client().write_all(x.bytes(), error));
  const std::vector<iovec> buffers = extreme_buffers(x);
  use(p.client().write_some(std::span<const iovec>(buffers), error));
  use(p.client().write_all(std::span<const iovec>(buffers), error));
}
CALLS(write_with_a_context_error,
      "net::tls_stream::write_some(span<byte> bytes, context ctx, error_code error)",
      "net::tls_stream::write_some(span<iovec> buffers, context ctx, error_code error)",
      "net::tls_stream::write_all(span<byte> bytes, context ctx, error_code error)",
      "net::tls_stream::write_all(span<iovec> buffers, context ctx, error_code error)") {
  talking_pair p;
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  use(p.client().write_some(x.bytes(), ctx, error));
  use(p.client().write_all(x.bytes(), ctx, error));
  const std::vector<iovec> buffers = extreme_buffers(x);
  use(p.client().write_some(std::span<const iovec>(buffers), ctx, error));
  use(p.client().write_all(std::span<const iovec>(buffers), ctx, error));
}
CALLS(deadlines, "net::tls_stream::set_deadline(time_point when)",
      "net::tls_stream::set_read_deadline(time_point when)",
      "net::tls_stream::set_write_deadline(time_point when)") {
  tls_pair p = sley_test::connected_tls();
  sley_hostile::set_a_deadline(x, p.client);
  std::error_code& error = x.error();
  error.clear();
  std::byte byte;
  ended_by([&] { use(p.client.read_some({&byte, 1}, error)); }, [&] { p.server.close(); });
}

CALLS(listen,
      "net::tls_listener::listen(string_view host_port, tls_context settings, "
      "listen_options options, context ctx)",
      "net::tls_listener::set_deadline(time_point when)") {
  net::listen_options o;
  o.backlog = x.number(o.backlog);
  net::tls_listener l =
      net::tls_listener::listen(x.text("127.0.0.1:0"), usual_server(), o, a_context(x));
  l.set_deadline(x.time());
}
CALLS(listen_error,
      "net::tls_listener::listen(string_view host_port, tls_context settings, "
      "listen_options options, error_code error)",
      "net::tls_listener::listen(string_view host_port, tls_context settings, "
      "listen_options options, context ctx, error_code error)") {
  net::listen_options o;
  o.backlog = x.number(o.backlog);
  const std::string_view host_port = x.text("127.0.0.1:0");
  if (x.pick<bool>({false, true})) {
    use(net::tls_listener::listen(host_port, usual_server(), o, ended_context(), x.error()));
  } else {
    use(net::tls_listener::listen(host_port, usual_server(), o, x.error()));
  }
}
