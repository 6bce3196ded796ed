// Asio and Beast on goroutines: their blocking functions, unchanged, on streams of sley's. All in
// one file, as their headers take the compiler long.
#include <utility>  // the Asio of Boost 1.74 forgets it

#include "support/harness.hpp"

#include "support/connections.hpp"
#include "support/threads.hpp"
#include "tls/certificates.hpp"

#include <sley/asio.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/tls.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <array>
#include <chrono>
#include <istream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
namespace ssl = asio::ssl;

using boost::system::error_code;
using sley::wait_group;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::tcp_pair;
using sley_test::threads_of_process;
using namespace std::chrono_literals;

using adapter = sley::asio::stream<sley::net::tcp_stream>;

namespace {

std::string text_of(const beast::flat_buffer& buffer) {
  return beast::buffers_to_string(buffer.data());
}

// Answers requests until the peer has no more.
template <class Stream>
void serve_http(Stream& s) {
  beast::flat_buffer buffer;
  for (;;) {
    http::request<http::string_body> request;
    error_code error;
    http::read(s, buffer, request, error);
    if (error == http::error::end_of_stream) return;
    ASSERT_FALSE(error) << error.message();
    http::response<http::string_body> response(http::status::ok, request.version());
    response.body() = std::string(request.target()) + ": " + request.body();
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    http::write(s, response);
    if (!response.keep_alive()) return;
  }
}

template <class Stream>
std::string ask_http(Stream& s, const std::string& target, const std::string& body) {
  http::request<http::string_body> request(http::verb::post, target, 11);
  request.set(http::field::host, "localhost");
  request.body() = body;
  request.prepare_payload();
  http::write(s, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(s, buffer, response);
  return response.body();
}

// Both sides of a WebSocket conversation over any two connected streams.
template <class Stream>
void echo_messages(websocket::stream<Stream>& ws) {
  ws.accept();
  for (;;) {
    beast::flat_buffer buffer;
    error_code error;
    ws.read(buffer, error);
    if (error == websocket::error::closed) return;
    ASSERT_FALSE(error) << error.message();
    ws.text(ws.got_text());
    ws.write(buffer.data());
  }
}

template <class Stream>
void exchange_messages(websocket::stream<Stream>& ws) {
  ws.handshake("localhost", "/");
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{300'000}}) {
    const std::string message(size, 'w');
    ws.write(asio::buffer(message));
    beast::flat_buffer buffer;
    ws.read(buffer);
    EXPECT_EQ(text_of(buffer), message);
  }
  ws.close(websocket::close_code::normal);
}

std::shared_ptr<ssl::context> server_ssl() {
  static const auto own = sley_test::server_options();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->use_certificate_chain(asio::buffer(own.certificate_pem));
  context->use_private_key(asio::buffer(own.key_pem), ssl::context::pem);
  return context;
}

std::shared_ptr<ssl::context> client_ssl() {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  context->add_certificate_authority(asio::buffer(sley_test::the_authority().certificate()));
  context->set_verify_mode(ssl::verify_peer);
  return context;
}

// Threads come and go with the runtime's needs; what Asio would start stays.
class no_new_threads {
 public:
  no_new_threads() { prefetch(); }
  ~no_new_threads() {
    EXPECT_TRUE(sley_test::eventually([this] { return foreign_threads() <= before_; }))
        << foreign_threads() << " threads that are not the runtime's, " << before_ << " before";
  }
  no_new_threads(const no_new_threads&) = delete;
  no_new_threads& operator=(const no_new_threads&) = delete;

 private:
  void prefetch() { before_ = foreign_threads(); }
  static int foreign_threads() {
    return threads_of_process() - static_cast<int>(sley::runtime::read_stats().threads);
  }
  int before_ = 0;
};

}  // namespace

// ---- the concepts ----

GO_TEST(asio, reads_and_writes) {
  tcp_pair c = connect_tcp();
  adapter client(std::move(c.client));
  adapter server(std::move(c.server));
  EXPECT_EQ(asio::write(client, asio::buffer(std::string("one two"))), 7U);
  std::string got(7, ' ');
  EXPECT_EQ(asio::read(server, asio::buffer(got)), 7U);
  EXPECT_EQ(got, "one two");

  asio::write(server, asio::buffer(std::string("line\nrest")));
  asio::streambuf buffer;
  EXPECT_EQ(asio::read_until(client, buffer, '\n'), 5U);
  std::string line;
  std::getline(std::istream(&buffer), line);
  EXPECT_EQ(line, "line");
}

GO_TEST(asio, the_end_is_eof) {
  tcp_pair c = connect_tcp();
  adapter client(std::move(c.client));
  adapter server(std::move(c.server));
  client.wrapped().close();
  char byte;
  error_code error;
  EXPECT_EQ(server.read_some(asio::buffer(&byte, 1), error), 0U);
  EXPECT_EQ(error, asio::error::eof);
  EXPECT_THROW(server.read_some(asio::buffer(&byte, 1)), boost::system::system_error);
}

GO_TEST(asio, buffers_without_room_do_not_wait) {
  tcp_pair c = connect_tcp();
  adapter client(std::move(c.client));
  error_code error = asio::error::eof;
  EXPECT_EQ(client.read_some(asio::mutable_buffer(), error), 0U);
  EXPECT_FALSE(error);
  EXPECT_EQ(client.write_some(asio::const_buffer(), error), 0U);
  EXPECT_FALSE(error);
  EXPECT_EQ(client.read_some(std::array<asio::mutable_buffer, 2>(), error), 0U);
}

GO_TEST(asio, gathers_and_scatters) {
  tcp_pair c = connect_tcp();
  adapter client(std::move(c.client));
  adapter server(std::move(c.server));
  std::string whole;
  std::vector<std::string> parts;
  std::vector<asio::const_buffer> buffers;
  for (std::size_t i = 0; i < 100; ++i) parts.emplace_back(i % 5, static_cast<char>('a' + i % 26));
  for (const std::string& part : parts) {
    whole += part;
    buffers.push_back(asio::buffer(part));
  }
  EXPECT_EQ(asio::write(client, buffers), whole.size());
  std::string head(10, ' ');
  std::string body(whole.size() - 10, ' ');
  const std::array<asio::mutable_buffer, 3> places = {asio::buffer(head), asio::mutable_buffer(),
                                                      asio::buffer(body)};
  EXPECT_EQ(asio::read(server, places), whole.size());
  EXPECT_EQ(head + body, whole);
}

GO_TEST(asio, errors_are_asios) {
  tcp_pair c = connect_tcp();
  sley::asio::stream<sley::net::tcp_stream&> client(c.client);
  char byte;
  error_code error;
  c.client.set_read_deadline(std::chrono::steady_clock::now() - 1s);
  client.read_some(asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, asio::error::timed_out);
  c.client.close();
  client.read_some(asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, asio::error::operation_aborted);
  const error_code of_tls = sley::asio::to_asio({10, sley::net::tls_category()});
  EXPECT_STREQ(of_tls.category().name(), "tls");
  EXPECT_EQ(of_tls.message(), "certificate has expired");
  EXPECT_EQ(of_tls, sley::asio::to_asio({10, sley::net::tls_category()}));
}

GO_TEST(asio, pipes_are_streams_as_well) {
  auto ends = sley::os::pipe();
  sley::asio::stream<sley::os::file&> reader(ends.reader);
  sley::asio::stream<sley::os::file&> writer(ends.writer);
  wait_group group;
  group.go([&] { asio::write(writer, asio::buffer(std::string("through a pipe"))); });
  std::string got(14, ' ');
  asio::read(reader, asio::buffer(got));
  EXPECT_EQ(got, "through a pipe");
  group.wait();
}

// ---- Beast ----

GO_TEST(asio, beast_speaks_http) {
  const no_new_threads check;
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    adapter server(std::move(c.server));
    serve_http(server);
  });
  {
    adapter client(std::move(c.client));
    EXPECT_EQ(ask_http(client, "/a", "first"), "/a: first");
    const std::string much(300'000, 'm');
    EXPECT_EQ(ask_http(client, "/b", much), "/b: " + much);
  }
  group.wait();
}

GO_TEST(asio, beast_speaks_websocket) {
  const no_new_threads check;
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    websocket::stream<adapter> server(std::move(c.server));
    echo_messages(server);
  });
  websocket::stream<adapter> client(std::move(c.client));
  exchange_messages(client);
  group.wait();
}

GO_TEST(asio, beast_speaks_both_over_our_tls) {
  const no_new_threads check;
  using tls_adapter = sley::asio::stream<sley::net::tls_stream>;
  const auto client_context = sley::net::tls_context::client(sley_test::client_options());
  const auto server_context = sley::net::tls_context::server(sley_test::server_options());
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    tls_adapter server(sley::net::tls_stream(std::move(c.server), server_context));
    serve_http(server);
  });
  {
    tls_adapter client(sley::net::tls_stream(std::move(c.client), client_context, "localhost"));
    EXPECT_EQ(ask_http(client, "/a", "first"), "/a: first");
  }
  group.wait();

  tcp_pair d = connect_tcp();
  group.go([&] {
    websocket::stream<tls_adapter> server(
        sley::net::tls_stream(std::move(d.server), server_context));
    echo_messages(server);
  });
  websocket::stream<tls_adapter> client(
      sley::net::tls_stream(std::move(d.client), client_context, "localhost"));
  exchange_messages(client);
  group.wait();
}

GO_TEST(asio, many_websockets_at_once_start_no_thread) {
  const no_new_threads check;
  wait_group group;
  for (int i = 0; i < sley_test::rounds(30); ++i) {
    group.go([] {
      tcp_pair c = connect_tcp();
      wait_group both;
      both.go([&] {
        websocket::stream<adapter> server(std::move(c.server));
        echo_messages(server);
      });
      websocket::stream<adapter> client(std::move(c.client));
      exchange_messages(client);
      both.wait();
    });
  }
  group.wait();
}

// ---- asio::ssl ----

GO_TEST(asio, its_tls_runs_on_our_streams) {
  const no_new_threads check;
  const auto server_context = server_ssl();
  const auto client_context = client_ssl();
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    ssl::stream<adapter> server(std::move(c.server), *server_context);
    server.handshake(ssl::stream_base::server);
    serve_http(server);
    server.shutdown();
  });
  {
    ssl::stream<adapter> client(std::move(c.client), *client_context);
    client.set_verify_callback(ssl::host_name_verification("localhost"));
    client.handshake(ssl::stream_base::client);
    EXPECT_EQ(ask_http(client, "/a", "first"), "/a: first");
    client.shutdown();
  }
  group.wait();
}

// Theirs on one side, ours on the other.
GO_TEST(asio, its_tls_and_ours_understand_each_other) {
  const auto client_context = client_ssl();
  const auto server_context = sley::net::tls_context::server(sley_test::server_options());
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    const sley::net::tls_stream server(std::move(c.server), server_context);
    char got[5];
    server.read_exactly(std::as_writable_bytes(std::span(got)));
    server.write_all(std::as_bytes(std::span(got)));
    std::error_code error;
    EXPECT_EQ(server.read_some(std::as_writable_bytes(std::span(got)), error), 0U);
    EXPECT_FALSE(error) << error.message();
    server.shutdown_write();
  });
  ssl::stream<adapter> client(std::move(c.client), *client_context);
  client.handshake(ssl::stream_base::client);
  asio::write(client, asio::buffer(std::string("hello")));
  std::string got(5, ' ');
  asio::read(client, asio::buffer(got));
  EXPECT_EQ(got, "hello");
  error_code error;
  client.shutdown(error);
  EXPECT_FALSE(error) << error.message();
  group.wait();
}

GO_TEST(asio, websocket_runs_over_its_tls) {
  const no_new_threads check;
  const auto server_context = server_ssl();
  const auto client_context = client_ssl();
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    websocket::stream<ssl::stream<adapter>> server(std::move(c.server), *server_context);
    server.next_layer().handshake(ssl::stream_base::server);
    echo_messages(server);
  });
  websocket::stream<ssl::stream<adapter>> client(std::move(c.client), *client_context);
  client.next_layer().handshake(ssl::stream_base::client);
  exchange_messages(client);
  group.wait();
}

// ---- use_goroutine ----

namespace {

// A thread that runs an io_context.
class runner {
 public:
  ~runner() {
    work_.reset();
    thread_.join();
  }
  asio::io_context context;

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context);
  std::thread thread_{[this] { context.run(); }};
};

}  // namespace

GO_TEST(asio, a_goroutine_waits_for_asynchronous_operations) {
  using sley::asio::use_goroutine;
  using tcp = asio::ip::tcp;
  runner r;
  asio::steady_timer timer(r.context, 1ms);
  timer.async_wait(use_goroutine);
  asio::post(r.context, use_goroutine);

  tcp::acceptor acceptor(r.context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  wait_group group;
  group.go([&] {
    tcp::socket peer = acceptor.async_accept(use_goroutine);
    std::string got(5, ' ');
    EXPECT_EQ(asio::async_read(peer, asio::buffer(got), use_goroutine), 5U);
    EXPECT_EQ(asio::async_write(peer, asio::buffer(got), use_goroutine), 5U);
    error_code error;
    EXPECT_EQ(peer.async_read_some(asio::buffer(got), use_goroutine[error]), 0U);
    EXPECT_EQ(error, asio::error::eof);
  });
  tcp::socket socket(r.context);
  socket.async_connect(acceptor.local_endpoint(), use_goroutine);
  asio::async_write(socket, asio::buffer(std::string("hello")), use_goroutine);
  std::string got(5, ' ');
  asio::async_read(socket, asio::buffer(got), use_goroutine);
  EXPECT_EQ(got, "hello");
  socket.close();
  group.wait();
}

GO_TEST(asio, errors_of_asynchronous_operations_are_thrown) {
  runner r;
  asio::steady_timer timer(r.context, 1h);
  const sley::chan<void> done;
  sley_test::go_until_parked([&] {
    try {
      timer.async_wait(sley::asio::use_goroutine);
      ADD_FAILURE() << "no error";
    } catch (const boost::system::system_error& e) {
      EXPECT_EQ(e.code(), asio::error::operation_aborted);
    }
    done.send();
  });
  asio::post(r.context, [&] { timer.cancel(); });
  done.receive();
}

GO_TEST(asio, a_dropped_operation_is_aborted) {
  auto context = std::make_unique<asio::io_context>();
  const sley::chan<void> done;
  sley_test::go_until_parked([&] {
    EXPECT_THROW(asio::post(*context, sley::asio::use_goroutine), boost::system::system_error);
    done.send();
  });
  context.reset();
  done.receive();
}
