// Hostile arguments of <sley/net.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"
#include "support/connections.hpp"
#include "support/temporary_folder.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/serve.hpp>

#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLEY_HOSTILE_HEADER hostile_net

namespace net = sley::net;
namespace os = sley::os;
using sley_hostile::arguments;
using sley_hostile::ended_by;
using sley_hostile::use;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

// Names that do not exist are not asked for again and again.
[[maybe_unused]] const int resolver_is_quick = ::setenv("RES_OPTIONS", "attempts:1 timeout:1", 0);

// A listener that nothing accepts from.
const std::string& a_peer() {
  static const auto* const listener =
      new net::tcp_listener(net::tcp_listener::listen("127.0.0.1:0"));
  static const auto* const address = new std::string(listener->local().to_string());
  return *address;
}

sley::context ended_context() {
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  cancel();
  return ctx;
}

sley::context a_context(arguments& x) {
  return x.pick<bool>({false, true}) ? ended_context() : sley::context::background();
}

net::listen_options extreme_listen_options(arguments& x) {
  net::listen_options o;
  o.backlog = x.number(o.backlog);
  return o;
}

net::endpoint extreme_endpoint(arguments& x) {
  sockaddr_storage address = {};
  std::memset(&address, 0xff, sizeof address);
  address.ss_family = x.number(static_cast<sa_family_t>(AF_INET));
  return {reinterpret_cast<const sockaddr*>(&address),
          x.pick<unsigned>({16, 2, sizeof address, 4'000'000'000})};
}

// Some of what is to be read, and then the end.
tcp_pair pair_with_bytes() {
  tcp_pair p = sley_test::connect_tcp();
  p.client.write_all(sley_test::bytes_of("some bytes"));
  p.client.shutdown_write();
  return p;
}

// Reads all that comes, until the end, so that no writer waits for room.
class drained_pair {
 public:
  drained_pair() : pair_(sley_test::connect_tcp()) {
    reader_.go([this] { sley_test::read_to_end(pair_.server); });
  }
  ~drained_pair() {
    pair_.client.close();
    reader_.wait();
  }
  const net::tcp_stream& writer() const { return pair_.client; }

 private:
  tcp_pair pair_;
  sley::wait_group reader_;
};

os::file a_file() { return os::file::open("/proc/self/exe", O_RDONLY); }

// Several buffers, more than one system call takes.
std::vector<iovec> extreme_buffers(arguments& x) {
  const std::span<std::byte> room = x.buffer();
  return std::vector<iovec>(x.pick<std::size_t>({1, 0, 1023, 1025, 5000}),
                            iovec{room.data(), room.size() > 100 ? 100 : room.size()});
}

}  // namespace

// ---- endpoints and names ----

CALLS(endpoint_of_an_address, "net::endpoint::endpoint(sockaddr* address, unsigned size)") {
  const net::endpoint e = extreme_endpoint(x);
  use(e.host() + e.to_string());
  use(e == e);
  EXPECT_LE(e.size(), sizeof(sockaddr_storage));
}

CALLS(endpoint_of_nothing, "net::endpoint::endpoint(sockaddr* address, unsigned size)") {
  const net::endpoint e(reinterpret_cast<const sockaddr*>(x.buffer().data()), 0);
  use(e.host() + e.to_string());
}

CALLS(endpoint, "net::endpoint::endpoint(string_view ip, uint16_t port)") {
  const net::endpoint e(x.text("127.0.0.1"), x.number<std::uint16_t>(80));
  use(e.to_string());
}

CALLS(unix_path, "net::endpoint::unix_path(string_view path)") {
  const std::string_view path = x.text("/tmp/name");
  const net::endpoint e = net::endpoint::unix_path(path);
  EXPECT_EQ(e.host(), path);
}

CALLS(lookup, "net::lookup(string_view host, context ctx)") {
  use(net::lookup(x.text("127.0.0.1"),
                  x.pick<bool>({false, true}) ? ended_context() : sley::context::background()));
}
CALLS(lookup_error, "net::lookup(string_view host, error_code error)",
      "net::lookup(string_view host, context ctx, error_code error)") {
  const std::string_view host = x.text("127.0.0.1");
  if (x.pick<bool>({false, true})) {
    use(net::lookup(host, ended_context(), x.error()));
  } else {
    use(net::lookup(host, x.error()));
  }
}

CALLS(set_max_lookups, "net::set_max_lookups(int n)") {
  net::set_max_lookups(net::set_max_lookups(x.number(64)));
}

// ---- streams ----

CALLS(stream, "net::stream::stream(int fd)") { use(net::stream(x.descriptor())); }
CALLS(stream_error, "net::stream::stream(int fd, error_code error)") {
  use(net::stream(x.descriptor(), x.error()));
}

CALLS(read_exactly, "net::stream::read_exactly(span<byte> buffer)",
      "byte_stream::read_some(span<byte> buffer)") {
  const tcp_pair p = pair_with_bytes();
  p.server.read_some(x.buffer());
  p.server.read_exactly(x.buffer());
}
CALLS(read_exactly_error, "net::stream::read_exactly(span<byte> buffer, error_code error)",
      "byte_stream::read_some(span<byte> buffer, error_code error)") {
  const tcp_pair p = pair_with_bytes();
  std::error_code& error = x.error();
  p.server.read_some(x.buffer(), error);
  p.server.read_exactly(x.buffer(), error);
}

CALLS(read_with_a_context, "net::stream::read_exactly(span<byte> buffer, context ctx)",
      "byte_stream::read_some(span<byte> buffer, context ctx)") {
  const tcp_pair p = pair_with_bytes();
  const sley::context ctx = a_context(x);
  p.server.read_some(x.buffer(), ctx);
  p.server.read_exactly(x.buffer(), ctx);
}
CALLS(read_with_a_context_error,
      "net::stream::read_exactly(span<byte> buffer, context ctx, error_code error)",
      "byte_stream::read_some(span<byte> buffer, context ctx, error_code error)") {
  const tcp_pair p = pair_with_bytes();
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  p.server.read_some(x.buffer(), ctx, error);
  p.server.read_exactly(x.buffer(), ctx, error);
}

CALLS(read_buffers, "byte_stream::read_some(io_buffers auto buffers)",
      "byte_stream::read_some(span<iovec> buffers, error_code error)",
      "byte_stream::read_some(io_buffers auto buffers, context ctx)",
      "byte_stream::read_some(span<iovec> buffers, context ctx, error_code error)") {
  const tcp_pair p = pair_with_bytes();
  const std::vector<iovec> buffers = extreme_buffers(x);
  std::error_code& error = x.error();
  p.server.read_some(buffers);
  p.server.read_some(buffers, error);
  const sley::context ctx = a_context(x);
  p.server.read_some(buffers, ctx, error);
  p.server.read_some(buffers, ctx);
}

CALLS(write, "byte_stream::write_some(span<byte> bytes)",
      "byte_stream::write_all(span<byte> bytes)") {
  const drained_pair p;
  p.writer().write_some(x.bytes());
  p.writer().write_all(x.bytes());
}
CALLS(write_error, "byte_stream::write_some(span<byte> bytes, error_code error)",
      "byte_stream::write_all(span<byte> bytes, error_code error)") {
  const drained_pair p;
  std::error_code& error = x.error();
  p.writer().write_some(x.bytes(), error);
  EXPECT_FALSE(error) << error.message();
  const std::span<const std::byte> bytes = x.bytes();
  EXPECT_EQ(p.writer().write_all(bytes, error), bytes.size());
}
CALLS(write_with_a_context, "byte_stream::write_some(span<byte> bytes, context ctx)",
      "byte_stream::write_all(span<byte> bytes, context ctx)",
      "byte_stream::write_some(span<byte> bytes, context ctx, error_code error)",
      "byte_stream::write_all(span<byte> bytes, context ctx, error_code error)") {
  const drained_pair p;
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  const std::span<const std::byte> bytes = x.bytes();
  p.writer().write_some(bytes, ctx, error);
  EXPECT_EQ(p.writer().write_all(bytes, ctx, error), ctx.error() ? 0 : bytes.size());
  p.writer().write_some(bytes, ctx);
  p.writer().write_all(bytes, ctx);
}
CALLS(write_text_with_a_context, "byte_stream::write_some(string_view text, context ctx)",
      "byte_stream::write_all(string_view text, context ctx)",
      "byte_stream::write_some(string_view text, context ctx, error_code error)",
      "byte_stream::write_all(string_view text, context ctx, error_code error)") {
  const drained_pair p;
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  const std::string_view text = x.text("text");
  p.writer().write_some(text, ctx, error);
  EXPECT_EQ(p.writer().write_all(text, ctx, error), ctx.error() ? 0 : text.size());
  p.writer().write_some(text, ctx);
  p.writer().write_all(text, ctx);
}
CALLS(write_buffers_with_a_context, "byte_stream::write_some(io_buffers auto buffers, context ctx)",
      "byte_stream::write_all(io_buffers auto buffers, context ctx)",
      "byte_stream::write_some(span<iovec> buffers, context ctx, error_code error)",
      "byte_stream::write_all(span<iovec> buffers, context ctx, error_code error)") {
  const drained_pair p;
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  const std::vector<iovec> buffers = extreme_buffers(x);
  p.writer().write_some(buffers, ctx, error);
  p.writer().write_all(buffers, ctx, error);
  p.writer().write_some(buffers, ctx);
  p.writer().write_all(buffers, ctx);
}
CALLS(write_text, "byte_stream::write_some(string_view text)",
      "byte_stream::write_all(string_view text)",
      "byte_stream::write_some(string_view text, error_code error)",
      "byte_stream::write_all(string_view text, error_code error)") {
  const drained_pair p;
  const std::string_view text = x.text("text");
  std::error_code& error = x.error();
  p.writer().write_some(text);
  p.writer().write_all(text);
  p.writer().write_some(text, error);
  EXPECT_EQ(p.writer().write_all(text, error), text.size());
}
CALLS(write_buffers, "byte_stream::write_some(io_buffers auto buffers)",
      "byte_stream::write_some(span<iovec> buffers, error_code error)",
      "byte_stream::write_all(io_buffers auto buffers)",
      "byte_stream::write_all(span<iovec> buffers, error_code error)") {
  const drained_pair p;
  const std::vector<iovec> buffers = extreme_buffers(x);
  std::error_code& error = x.error();
  p.writer().write_some(buffers);
  p.writer().write_some(buffers, error);
  p.writer().write_all(buffers);
  p.writer().write_all(buffers, error);
}

CALLS(of_streams_that_are_closed, "byte_stream::write_all(span<byte> bytes, error_code error)") {
  net::tcp_stream s =
      x.pick<bool>({false, true}) ? net::tcp_stream::connect(a_peer()) : net::tcp_stream();
  s.close();
  std::error_code& error = x.error();
  s.write_all(x.bytes(), error);
  s.read_some(x.buffer(), error);
  s.read_exactly(x.buffer(), error);
  s.set_keep_alive(1s, error);
  s.set_deadline(x.time());
}

CALLS(send_file,
      "net::stream::send_file(os::file from, uint64_t offset, uint64_t count, context ctx)",
      "net::stream::send_file(os::file from, uint64_t offset, uint64_t count, error_code error)",
      "net::stream::send_file(os::file from, uint64_t offset, uint64_t count, context ctx, "
      "error_code error)") {
  const drained_pair p;
  const os::file from = a_file();
  const std::uint64_t offset = x.number<std::uint64_t>(0);
  const std::uint64_t count = x.number<std::uint64_t>(100);
  const sley::context ctx = a_context(x);
  p.writer().send_file(from, offset, count, x.error());
  p.writer().send_file(from, offset, count, ctx, x.error());
  p.writer().send_file(from, offset, count, ctx);
}
CALLS(copy, "net::copy(byte_stream from, byte_stream to, uint64_t most, context ctx)",
      "net::copy(byte_stream from, byte_stream to, uint64_t most, error_code error)",
      "net::copy(byte_stream from, byte_stream to, uint64_t most, context ctx, error_code "
      "error)") {
  const tcp_pair from = pair_with_bytes();
  const drained_pair to;
  const std::uint64_t most = x.number<std::uint64_t>(5);
  const sley::context ctx = a_context(x);
  net::copy(from.server, to.writer(), most, ctx, x.error());
  net::copy(from.server, to.writer(), most, ctx);
  net::copy(from.server, to.writer(), most, x.error());
}

// ---- connecting and listening ----

CALLS(tcp_connect, "net::tcp_stream::connect(string_view host_port, context ctx)") {
  use(net::tcp_stream::connect(x.text(a_peer()), x.pick<bool>({false, true})
                                                     ? ended_context()
                                                     : sley::context::background()));
}
CALLS(tcp_connect_error, "net::tcp_stream::connect(string_view host_port, error_code error)",
      "net::tcp_stream::connect(string_view host_port, context ctx, error_code error)") {
  const std::string_view host_port = x.text(a_peer());
  if (x.pick<bool>({false, true})) {
    use(net::tcp_stream::connect(host_port, ended_context(), x.error()));
  } else {
    use(net::tcp_stream::connect(host_port, x.error()));
  }
}

CALLS(tcp_options, "net::tcp_stream::set_keep_alive(duration idle)",
      "net::tcp_stream::set_linger(duration limit)", "net::tcp_stream::set_read_buffer(int bytes)",
      "net::tcp_stream::set_write_buffer(int bytes)") {
  const tcp_pair p = sley_test::connect_tcp();
  const std::chrono::seconds seconds(x.number<std::int64_t>(1));
  const int bytes = x.number(4096);
  switch (x.pick<int>({0, 1, 2, 3})) {
    case 0: return p.client.set_keep_alive(seconds);
    case 1: return p.client.set_linger(seconds);
    case 2: return p.client.set_read_buffer(bytes);
    default: return p.client.set_write_buffer(bytes);
  }
}
CALLS(tcp_options_error, "net::tcp_stream::set_keep_alive(duration idle, error_code error)",
      "net::tcp_stream::set_linger(duration limit, error_code error)",
      "net::tcp_stream::set_read_buffer(int bytes, error_code error)",
      "net::tcp_stream::set_write_buffer(int bytes, error_code error)") {
  const tcp_pair p = sley_test::connect_tcp();
  const std::chrono::seconds seconds(x.number<std::int64_t>(1));
  const int bytes = x.number(4096);
  switch (x.pick<int>({0, 1, 2, 3})) {
    case 0: return p.client.set_keep_alive(seconds, x.error());
    case 1: return p.client.set_linger(seconds, x.error());
    case 2: return p.client.set_read_buffer(bytes, x.error());
    default: return p.client.set_write_buffer(bytes, x.error());
  }
}

// What a text of a linger time means in seconds is kept, or refused: a longest time is no reset.
TEST(hostile_net, a_longest_linger_time_is_no_reset) {
  sley::run([] {
    const tcp_pair p = sley_test::connect_tcp();
    std::error_code error;
    p.client.set_linger(std::chrono::seconds::max(), error);
    linger set = {};
    socklen_t size = sizeof set;
    ASSERT_EQ(::getsockopt(p.client.native_handle(), SOL_SOCKET, SO_LINGER, &set, &size), 0);
    EXPECT_TRUE(error || set.l_linger > 3600 || set.l_onoff == 0) << set.l_linger;
  });
}

CALLS(tcp_listen,
      "net::tcp_listener::listen(string_view host_port, listen_options options, context ctx)") {
  use(net::tcp_listener::listen(x.text("127.0.0.1:0"), extreme_listen_options(x), a_context(x)));
}
CALLS(tcp_listen_error,
      "net::tcp_listener::listen(string_view host_port, listen_options options, error_code "
      "error)",
      "net::tcp_listener::listen(string_view host_port, listen_options options, context ctx, "
      "error_code error)") {
  const std::string_view host_port = x.text("127.0.0.1:0");
  const net::listen_options options = extreme_listen_options(x);
  if (x.pick<bool>({false, true})) {
    use(net::tcp_listener::listen(host_port, options, ended_context(), x.error()));
  } else {
    use(net::tcp_listener::listen(host_port, options, x.error()));
  }
}
CALLS(listener_of_a_descriptor, "net::tcp_listener::tcp_listener(int fd)",
      "net::unix_listener::unix_listener(int fd)") {
  const int fd = x.descriptor();
  x.pick<bool>({false, true}) ? use(net::unix_listener(fd)) : use(net::tcp_listener(fd));
}
CALLS(listener_of_a_descriptor_error, "net::tcp_listener::tcp_listener(int fd, error_code error)",
      "net::unix_listener::unix_listener(int fd, error_code error)") {
  const int fd = x.descriptor();
  x.pick<bool>({false, true}) ? use(net::unix_listener(fd, x.error()))
                              : use(net::tcp_listener(fd, x.error()));
}
CALLS(unix_connect, "net::unix_stream::connect(string_view path, context ctx)") {
  use(net::unix_stream::connect(
      x.text("@sley-hostile-nothing"),
      x.pick<bool>({false, true}) ? ended_context() : sley::context::background()));
}
CALLS(unix_connect_error, "net::unix_stream::connect(string_view path, error_code error)",
      "net::unix_stream::connect(string_view path, context ctx, error_code error)") {
  const std::string_view path = x.text("@sley-hostile-nothing");
  if (x.pick<bool>({false, true})) {
    use(net::unix_stream::connect(path, ended_context(), x.error()));
  } else {
    use(net::unix_stream::connect(path, x.error()));
  }
}

namespace {

// Works in a directory of its own while it lives: some of the texts are names of files.
class own_directory {
 public:
  own_directory() { std::filesystem::current_path(folder_.path()); }
  ~own_directory() { std::filesystem::current_path(before_); }
  own_directory(const own_directory&) = delete;
  own_directory& operator=(const own_directory&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const sley_test::temporary_folder folder_;
};

}  // namespace

CALLS(unix_listen, "net::unix_listener::listen(string_view path, listen_options options)") {
  const own_directory here;
  use(net::unix_listener::listen(x.text("name"), extreme_listen_options(x)));
}
CALLS(unix_listen_error,
      "net::unix_listener::listen(string_view path, listen_options options, error_code error)") {
  const own_directory here;
  use(net::unix_listener::listen(x.text("name"), extreme_listen_options(x), x.error()));
}

// ---- datagrams ----

CALLS(udp, "net::udp_socket::bind(string_view host_port, context ctx)",
      "net::udp_socket::connect(string_view host_port, context ctx)") {
  const bool binds = x.pick<bool>({true, false});
  const std::string_view host_port = x.text("127.0.0.1:9");
  const sley::context ctx = a_context(x);
  use(binds ? net::udp_socket::bind(host_port, ctx) : net::udp_socket::connect(host_port, ctx));
}
CALLS(udp_error, "net::udp_socket::bind(string_view host_port, error_code error)",
      "net::udp_socket::connect(string_view host_port, error_code error)",
      "net::udp_socket::bind(string_view host_port, context ctx, error_code error)",
      "net::udp_socket::connect(string_view host_port, context ctx, error_code error)") {
  const std::string_view host_port = x.text("127.0.0.1:9");
  std::error_code& error = x.error();
  switch (x.pick<int>({0, 1, 2, 3})) {
    case 0: return use(net::udp_socket::bind(host_port, error));
    case 1: return use(net::udp_socket::connect(host_port, error));
    case 2: return use(net::udp_socket::bind(host_port, ended_context(), error));
    default: return use(net::udp_socket::connect(host_port, ended_context(), error));
  }
}
CALLS(unix_datagram, "net::unix_datagram::bind(string_view path)",
      "net::unix_datagram::connect(string_view path)") {
  const own_directory here;
  const bool binds = x.pick<bool>({true, false});
  const std::string_view path = x.text("name");
  use(binds ? net::unix_datagram::bind(path) : net::unix_datagram::connect(path));
}
CALLS(unix_datagram_error, "net::unix_datagram::bind(string_view path, error_code error)",
      "net::unix_datagram::connect(string_view path, error_code error)") {
  const own_directory here;
  const bool binds = x.pick<bool>({true, false});
  const std::string_view path = x.text("name");
  use(binds ? net::unix_datagram::bind(path, x.error())
            : net::unix_datagram::connect(path, x.error()));
}

CALLS(datagrams, "net::datagram_socket::receive(span<byte> buffer)",
      "net::datagram_socket::send(span<byte> datagram)",
      "net::datagram_socket::receive_from(span<byte> buffer, endpoint from)",
      "net::datagram_socket::receive_from(span<byte> buffer, endpoint from, error_code error)") {
  const auto [a, b] = net::unix_datagram::pair();
  net::endpoint from;
  const int sends = 3;
  for (int i = 0; i < sends; ++i) a.send(sley_test::bytes_of("datagram"));
  b.receive(x.buffer());
  b.receive_from(x.buffer(), from);
  b.receive_from(x.buffer(), from, x.error());
  a.send(x.bytes());  // one of a mebibyte is too long
}
CALLS(datagrams_error, "net::datagram_socket::receive(span<byte> buffer, error_code error)",
      "net::datagram_socket::send(span<byte> datagram, error_code error)") {
  const auto [a, b] = net::unix_datagram::pair();
  a.send(sley_test::bytes_of("datagram"));
  b.receive(x.buffer(), x.error());
  a.send(x.bytes(), x.error());
}
CALLS(datagrams_with_a_context, "net::datagram_socket::receive(span<byte> buffer, context ctx)",
      "net::datagram_socket::receive(span<byte> buffer, context ctx, error_code error)",
      "net::datagram_socket::receive_from(span<byte> buffer, endpoint from, context ctx)",
      "net::datagram_socket::receive_from(span<byte> buffer, endpoint from, context ctx, "
      "error_code error)",
      "net::datagram_socket::send(span<byte> datagram, context ctx)",
      "net::datagram_socket::send(span<byte> datagram, context ctx, error_code error)",
      "net::datagram_socket::send(string_view text, context ctx)",
      "net::datagram_socket::send(string_view text, context ctx, error_code error)") {
  const auto [a, b] = net::unix_datagram::pair();
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  net::endpoint from;
  for (int i = 0; i < 4; ++i) a.send(sley_test::bytes_of("datagram"));
  b.receive(x.buffer(), ctx, error);
  b.receive_from(x.buffer(), from, ctx, error);
  a.send(x.bytes(), ctx, error);
  a.send(x.text("datagram"), ctx, error);
  switch (x.pick<int>({0, 1, 2, 3})) {
    case 0: use(b.receive(x.buffer(), ctx)); break;
    case 1: use(b.receive_from(x.buffer(), from, ctx)); break;
    case 2: use(a.send(x.bytes(), ctx)); break;
    default: use(a.send(x.text("datagram"), ctx));
  }
}
CALLS(datagrams_to_with_a_context,
      "net::datagram_socket::send_to(span<byte> datagram, endpoint to, context ctx)",
      "net::datagram_socket::send_to(span<byte> datagram, endpoint to, context ctx, error_code "
      "error)",
      "net::datagram_socket::send_to(string_view text, endpoint to, context ctx)",
      "net::datagram_socket::send_to(string_view text, endpoint to, context ctx, error_code "
      "error)") {
  const auto socket = net::udp_socket::bind("127.0.0.1:0");
  const net::endpoint to = extreme_endpoint(x);
  const sley::context ctx = a_context(x);
  std::error_code& error = x.error();
  socket.send_to(x.bytes(), to, ctx, error);
  socket.send_to(x.text("datagram"), to, ctx, error);
  if (x.pick<bool>({false, true})) {
    socket.send_to(x.bytes(), to, ctx);
  } else {
    socket.send_to(x.text("datagram"), to, ctx);
  }
}
CALLS(text_datagrams, "net::datagram_socket::send(string_view text)",
      "net::datagram_socket::send(string_view text, error_code error)") {
  const auto [a, b] = net::unix_datagram::pair();
  a.send(x.text("datagram"), x.error());
  a.send(x.text("datagram"));
}
CALLS(datagrams_to, "net::datagram_socket::send_to(span<byte> datagram, endpoint to)") {
  const auto socket = net::udp_socket::bind("127.0.0.1:0");
  socket.send_to(x.bytes(), extreme_endpoint(x));
}
CALLS(datagrams_to_error,
      "net::datagram_socket::send_to(span<byte> datagram, endpoint to, error_code error)") {
  const auto socket = net::udp_socket::bind("127.0.0.1:0");
  socket.send_to(x.bytes(), extreme_endpoint(x), x.error());
}
CALLS(text_datagrams_to, "net::datagram_socket::send_to(string_view text, endpoint to)") {
  const auto socket = net::udp_socket::bind("127.0.0.1:0");
  socket.send_to(x.text("datagram"), extreme_endpoint(x));
}
CALLS(text_datagrams_to_error,
      "net::datagram_socket::send_to(string_view text, endpoint to, error_code error)") {
  const auto socket = net::udp_socket::bind("127.0.0.1:0");
  socket.send_to(x.text("datagram"), extreme_endpoint(x), x.error());
}

// ---- deadlines ----

CALLS(deadlines, "io_object::set_deadline(time_point when)",
      "io_object::set_read_deadline(time_point when)",
      "io_object::set_write_deadline(time_point when)") {
  tcp_pair p = sley_test::connect_tcp();
  sley_hostile::set_a_deadline(x, p.client);
  std::error_code& error = x.error();
  error.clear();
  std::byte byte;
  ended_by([&] { p.client.read_some({&byte, 1}, error); }, [&] { p.client.close(); });
}

// ---- servers ----

CALLS(serve, "net::serve(Listener listener, context ctx, Handler handler, serve_options options)") {
  net::serve_options o;
  o.connections = x.pick<std::size_t>({2, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  o.grace = x.duration(1ms);
  o.handshake_timeout = x.duration(1s);
  o.name = x.text("peer");
  auto listener = net::tcp_listener::listen("127.0.0.1:0");
  const auto client = net::tcp_stream::connect(listener.local().to_string());
  const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 2ms);
  const net::serve_result end =
      net::serve(listener, ctx, [](net::tcp_stream s) { s.write_all("hello"); }, o);
  EXPECT_EQ(end.reason, sley::context_errc::deadline_exceeded);
  EXPECT_LE(end.accepted, 1U);
}
