// Hostile arguments of <sley/http.hpp> and <sley/debug.hpp>. See hostile/hostile.hpp.
#include "hostile/hostile.hpp"
#include "support/temporary_folder.hpp"
#include "support/web.hpp"

#include <sley/debug.hpp>
#include <sley/http.hpp>
#include <sley/http/debug.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/uio.h>

#define SLEY_HOSTILE_HEADER hostile_http

namespace http = sley::http;
using sley_hostile::arguments;
using sley_hostile::ended_by;
using sley_hostile::use;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

// Serves one request whose handler is f, in this goroutine, and lets out what leaves f.
void with_request(const std::function<void(http::request&, http::response&)>& f,
                  std::string_view more = {}, std::string_view body = {}) {
  std::exception_ptr error;
  const running_server server(
      [&](http::request& in, http::response& out) {
        try {
          f(in, out);
        } catch (const std::exception&) {
          error = std::current_exception();
          throw;
        }
      },
      {.on_error = [](const http::request*, const std::exception_ptr&) {}});
  server.exchange(sley_test::post(more, body));
  if (error) std::rethrow_exception(error);
}

// A server for all rounds of a test.
http::handler answering(std::string text) {
  return [text = std::move(text)](http::request&, http::response& out) {
    out.send(200, "text/plain", text);
  };
}

}  // namespace

// ---- texts ----

CALLS(percent, "http::percent_decode(string_view text, bool plus_is_space)",
      "http::percent_encode(string_view text)") {
  const std::string_view text = x.text("a%20b");
  use(http::percent_decode(text, x.pick<bool>({false, true})));
  EXPECT_EQ(http::percent_decode(http::percent_encode(text)), text);
}
CALLS(parameters, "http::parameters::parse(string_view text)",
      "http::parameters::get(string_view name)", "http::parameters::contains(string_view name)",
      "http::parameters::all(string_view name)",
      "http::parameters::add(string_view name, string_view value)") {
  http::parameters p = http::parameters::parse(x.text("a=1&b=2"));
  const std::string_view name = x.text("a");
  const std::string_view value = x.text("1");
  use(p.get(name));
  p.add(name, value);
  EXPECT_TRUE(p.contains(name));
  EXPECT_EQ(p.all(name).back(), value);
  EXPECT_EQ(http::parameters::parse(p.to_string()).all(name).back(), value);
}
CALLS(url, "http::url::parse(string_view text)") { use(http::url::parse(x.text("http://h/"))); }
CALLS(try_url, "http::url::try_parse(string_view text)",
      "http::url::resolve(string_view reference)") {
  const auto u = http::url::try_parse(x.text("http://h/a/b?c"));
  if (u) use(u->resolve(x.text("../d")));
}
CALLS(url_of_parts, "http::url::try_parse(string_view text)") {
  const std::string host = x.string("host");
  const std::string port = x.string("80");
  const std::string path = x.string("path");
  const auto u = http::url::try_parse("http://" + host + ":" + port + "/" + path);
  if (!u) return;
  const auto again = http::url::try_parse(u->to_string());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to_string(), u->to_string());
}

CALLS(fields, "http::fields::add(string_view name, string_view value)",
      "http::fields::set(string_view name, string_view value)") {
  http::fields f;
  const std::string_view name = x.text("name");
  f.add(name, x.text("value"));
  f.set(name, x.text("value"));
  EXPECT_EQ(f.size(), 1U);
}
CALLS(fields_numbers, "http::fields::add(string_view name, uint64_t value)",
      "http::fields::set(string_view name, uint64_t value)") {
  http::fields f;
  const std::string_view name = x.text("name");
  const auto value = x.number<std::uint64_t>(1);
  f.add(name, value);
  f.set(name, value);
  EXPECT_EQ(f.get(name), std::to_string(value));
}
CALLS(fields_looks, "http::fields::erase(string_view name)", "http::fields::get(string_view name)",
      "http::fields::find(string_view name)", "http::fields::contains(string_view name)",
      "http::fields::all(string_view name)",
      "http::fields::has_token(string_view name, string_view token)") {
  http::fields f;
  f.add("name", "a, b");
  const std::string_view name = x.text("name");
  use(f.get(name));
  use(f.find(name));
  use(f.contains(name));
  use(f.all(name));
  use(f.has_token(name, x.text("b")));
  use(f.erase(name));
}
CALLS(equals_ignoring_case, "http::equals_ignoring_case(string_view a, string_view b)") {
  const std::string_view a = x.text("a"), b = x.text("A");
  EXPECT_EQ(http::equals_ignoring_case(a, b), http::equals_ignoring_case(b, a));
}
CALLS(content_type_of, "http::content_type_of(string_view file_name)",
      "http::is_compressible(string_view content_type)",
      "http::compress_options::bool(string_view content_type)") {
  use(http::content_type_of(x.text("a.html")));
  use(http::is_compressible(x.text("text/html")));
}
CALLS(errors, "http::make_error_code(errc e)", "http::reason_phrase(int status)",
      "http::status_error::status_error(int status)",
      "http::status_error::status_error(int status, string text)") {
  use(make_error_code(x.enumerator(http::errc::malformed)).message());
  const int status = x.number(404);
  use(http::reason_phrase(status));
  use(http::status_error(status, x.string("text")));
  use(http::status_error(status));
}

// ---- routes and files ----

CALLS(router, "http::router::handle(string_view method, string_view pattern, handler h)",
      "http::router::get(string_view pattern, handler h)") {
  http::router r;
  const std::string_view pattern = x.text("/a/{b}/{c...}");
  r.handle(x.text("GET"), pattern, x.pick<bool>({false, true}) ? http::handler() : answering("a"));
  r.get(pattern, answering("b"));
}
CALLS(router_methods, "http::router::post(string_view pattern, handler h)",
      "http::router::put(string_view pattern, handler h)",
      "http::router::patch(string_view pattern, handler h)",
      "http::router::erase(string_view pattern, handler h)") {
  http::router r;
  const std::string_view pattern = x.text("/a");
  r.post(pattern, answering("a"));
  r.put(pattern, answering("a"));
  r.patch(pattern, answering("a"));
  r.erase(pattern, answering("a"));
}
CALLS(file_server, "http::file_server(string_view root, file_options options)") {
  http::file_options options;
  options.index = x.string("index.html");
  options.cache_control = x.string("no-cache");
  const running_server server(http::file_server(x.text("/proc/self/attr"), options),
                              {.on_error = [](const http::request*, const std::exception_ptr&) {}});
  const int status = sley_test::status_of(server.exchange(sley_test::get("/")));
  EXPECT_TRUE(status == 404 || status == 500) << status;
}
CALLS(compress, "http::compress(compress_options options)") {
  http::router r;
  r.use(http::compress({.least_bytes = x.number<std::uint64_t>(1), .level = x.number(5)}));
  r.get("/", answering(std::string(10'000, 'a')));
  const running_server server(r);
  const std::string answer = server.exchange(sley_test::get("/", "Accept-Encoding: gzip\r\n"));
  EXPECT_EQ(sley_test::status_of(answer), 200);
}

// ---- a server's requests and responses ----

CALLS(server, "http::server::server(handler h, server_options options)") {
  http::server_options o;
  o.header_bytes = x.pick<std::size_t>({o.header_bytes, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  o.target_bytes = x.pick<std::size_t>({o.target_bytes, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  o.body_bytes = x.pick<std::uint64_t>({o.body_bytes, 0, 1, UINT64_MAX, UINT64_MAX / 2});
  o.connections = x.pick<std::size_t>({o.connections, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  const auto d = x.pick<std::chrono::nanoseconds>(
      {10s, 0ns, std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max() / 2});
  o.header_timeout = o.idle_timeout = o.read_timeout = o.write_timeout = d;
  const running_server server(answering("hello"), o);
  const std::string answer = server.exchange(sley_test::get("/"));
  const int status = sley_test::status_of(answer);
  EXPECT_TRUE(status == 200 || status == 431 || status == 414) << answer;
}
CALLS(server_that_has_no_time, "http::server::server(handler h, server_options options)") {
  http::server_options o;
  const auto d = x.duration(10s);
  o.header_timeout = o.idle_timeout = o.read_timeout = o.write_timeout = d;
  const running_server server(answering("hello"), o);
  use(server.exchange(sley_test::get("/")));
}
CALLS(server_whose_handlers_have_no_time,
      "http::server::server(handler h, server_options options)") {
  http::server_options o;
  o.handler_timeout = x.duration(10s);
  const running_server server(answering("hello"), o);
  const int status = sley_test::status_of(server.exchange(sley_test::get("/")));
  EXPECT_TRUE(status == 200 || status == 503) << status;
}
CALLS(shutdown, "http::server::shutdown(time_point deadline)") {
  running_server server(answering("hello"));
  const sley::time_point deadline = x.time();
  ended_by([&] { use(server.server.shutdown(deadline)); }, [&] { server.server.close(); });
}
CALLS(trace_parent, "http::trace_parent::parse(string_view text)") {
  const std::string_view text = x.text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const auto parent = http::trace_parent::parse(text);
  if (parent) {
    EXPECT_EQ(parent->to_string(), text);
  }
}
CALLS(health_stop, "http::health::stop(server of, stop_options options, context ctx)") {
  running_server web(answering("hello"), {.last_request_timeout = x.duration(50ms)});
  const auto [ctx, cancel] = sley::with_cancel({});
  const http::stop_options options{.notice = x.duration(), .drain = x.duration()};
  ended_by([&, ctx] { http::health().stop(web.server, options, ctx); }, cancel);
}
CALLS(without_a_handler, "http::server::server(handler h, server_options options)") {
  const running_server server(x.pick<bool>({false, true}) ? http::handler() : answering("hello"),
                              {.on_error = [](const http::request*, const std::exception_ptr&) {}});
  use(server.exchange(sley_test::get("/")));
}

CALLS(request, "http::request::header(string_view name)",
      "http::request::param(string_view name)") {
  const std::string_view name = x.text("Host");
  with_request([&](http::request& in, http::response&) {
    use(in.header(name));
    use(in.param(name));
  });
}
CALLS(body, "http::body_reader::read_some(span<byte> buffer)",
      "http::body_reader::read_some(span<byte> buffer, error_code error)",
      "http::body_reader::read_all(size_t limit)",
      "http::body_reader::read_all(size_t limit, error_code error)",
      "http::body_reader::set_limit(uint64_t bytes)") {
  const auto limit = x.number<std::uint64_t>(100);
  const auto most = x.number<std::size_t>(100);
  const auto buffer = x.buffer();
  std::error_code& error = x.error();
  const int which = x.pick<int>({0, 1, 2, 3});
  error.clear();
  with_request(
      [&](http::request& in, http::response&) {
        in.body().set_limit(limit);
        if (which == 0) use(in.body().read_some(buffer));
        if (which == 1) use(in.body().read_some(buffer, error));
        std::string read;
        if (which == 2) read = in.body().read_all(most);
        if (which == 3) read = in.body().read_all(most, error);
        EXPECT_LE(read.size(), most);
      },
      "Content-Length: 4\r\n", "body");
}

CALLS(response, "http::response::set_status(int status)", "http::response::write(string_view text)",
      "http::response::write(span<byte> bytes)") {
  const int status = x.number(200);
  const std::string_view text = x.text("text");
  const auto bytes = x.bytes();
  with_request([&](http::request&, http::response& out) {
    out.set_status(status);
    out.write(text);
    out.write(bytes);
  });
}
CALLS(response_error, "http::response::write(string_view text, error_code error)",
      "http::response::write(span<byte> bytes, error_code error)") {
  const std::string_view text = x.text("text");
  const auto bytes = x.bytes();
  std::error_code& error = x.error();
  with_request([&](http::request&, http::response& out) {
    out.write(text, error);
    out.write(bytes, error);
  });
}
CALLS(send, "http::response::send(int status, string_view content_type, string_view body)") {
  const int status = x.number(200);
  const std::string_view type = x.text("text/plain");
  const std::string_view body = x.text("body");
  with_request([&](http::request&, http::response& out) { out.send(status, type, body); });
}
CALLS(send_status, "http::response::send(int status)",
      "http::response::redirect(int status, string_view location)") {
  const int status = x.pick<int>({x.number(302), 99, 100, 101, 199, 204, 205, 304, 999, 1000});
  const bool redirects = x.pick<bool>({false, true});
  const std::string_view location = redirects ? x.text("/there") : "";
  with_request([&](http::request&, http::response& out) {
    redirects ? out.redirect(status, location) : out.send(status);
  });
}

// ---- the client ----

namespace {

// A server for a round, and what a client asks it for.
struct hello_server : running_server {
  hello_server() : running_server(answering("hello")) {}
  const std::string url = "http://" + address + "/";
};

http::client_options quick() {
  http::client_options o;
  o.idle_connections = 0;
  return o;
}

}  // namespace

CALLS(client, "http::client::client(client_options options)") {
  const hello_server server;
  http::client_options o;
  o.header_bytes = x.pick<std::size_t>({o.header_bytes, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  o.body_bytes = x.pick<std::uint64_t>({o.body_bytes, 0, 1, UINT64_MAX, UINT64_MAX / 2});
  o.redirects = x.number(10);
  o.connections_per_host =
      x.pick<std::size_t>({o.connections_per_host, 0, 1, SIZE_MAX, SIZE_MAX / 2});
  o.idle_connections = x.pick<std::size_t>({0, 1, SIZE_MAX});
  http::client client(o);
  use(client.get(server.url).read_all());
}
CALLS(client_timeouts, "http::client::client(client_options options)") {
  const hello_server server;
  http::client_options o = quick();
  const auto d = x.duration(10s);
  o.connect_timeout = o.header_timeout = o.read_timeout = d;
  o.write_timeout = o.idle_timeout = o.expect_timeout = d;
  http::client client(o);
  use(client.get(server.url).read_all());
}
CALLS(client_agent, "http::client::client(client_options options)") {
  const hello_server server;
  http::client_options o = quick();
  o.user_agent = x.string("sley");
  use(http::client(o).get(server.url).read_all());
}

CALLS(client_get, "http::client::get(string_view url, context ctx)",
      "http::client::head(string_view url, context ctx)",
      "http::client_response::header(string_view name)",
      "http::client_response::read_all(size_t limit)") {
  const hello_server server;
  http::client client(quick());
  const std::string_view url = x.text(server.url);
  use(client.head(url).status());
  http::client_response r = client.get(url);
  use(r.header(x.text("Content-Length")));
  use(r.read_all(x.number<std::size_t>(100)));
}
CALLS(client_get_error, "http::client::get(string_view url, error_code error)",
      "http::client::get(string_view url, context ctx, error_code error)",
      "http::client::head(string_view url, error_code error)",
      "http::client::head(string_view url, context ctx, error_code error)",
      "http::client_response::read_all(size_t limit, error_code error)") {
  const hello_server server;
  http::client client(quick());
  std::error_code& error = x.error();
  const std::string_view url = x.text(server.url);
  use(client.get(url, sley::context::background(), error).status());
  use(client.head(url, error).status());
  use(client.head(url, sley::context::background(), error).status());
  http::client_response r = client.get(url, error);
  if (!error) use(r.read_all(x.number<std::size_t>(100), error));
}
CALLS(client_post,
      "http::client::post(string_view url, string_view content_type, request_body body, "
      "context ctx)",
      "http::request_body::request_body(string_view text)") {
  const hello_server server;
  http::client client(quick());
  const http::client_response r =
      client.post(server.url, x.text("text/plain"), std::string_view(x.text("body")));
  use(r.status());
}
CALLS(client_post_error,
      "http::client::post(string_view url, string_view content_type, request_body body, "
      "error_code error)",
      "http::client::post(string_view url, string_view content_type, request_body body, "
      "context ctx, error_code error)",
      "http::request_body::request_body(string text)",
      "http::request_body::request_body(char* text)",
      "http::request_body::request_body(span<byte> bytes)") {
  const hello_server server;
  http::client client(quick());
  const std::string_view type = x.text("text/plain");
  http::request_body body;
  switch (x.pick<int>({0, 1, 2})) {
    case 0: body = x.string("body"); break;
    case 1: body = x.pick<const char*>({"", "body"}); break;
    default: body = x.bytes(); break;
  }
  std::error_code& error = x.error();
  use(client.post(server.url, type, body, sley::context::background(), error).status());
  use(client.post(server.url, type, body, error).status());
}
CALLS(client_send, "http::client::send(client_request request)") {
  const hello_server server;
  http::client client(quick());
  http::client_request r;
  r.url = server.url;
  r.method = x.string("GET");
  use(client.send(r).status());
}
CALLS(client_send_error, "http::client::send(client_request request, error_code error)") {
  const hello_server server;
  http::client client(quick());
  http::client_request r;
  r.method = "PUT";
  r.url = server.url + x.string("path");
  // A source whose length is not what it says.
  r.body = http::request_body(
      [n = x.pick<std::size_t>({3, 0})](std::span<std::byte> room) mutable {
        const std::size_t most = std::min(n, room.size());
        std::fill_n(room.begin(), most, std::byte{'x'});
        return std::exchange(n, 0) == 0 ? 0 : most;
      },
      x.pick<std::optional<std::uint64_t>>({std::nullopt, 3, 0, 1, UINT64_MAX}));
  use(client.send(r, x.error()).status());
}

// ---- WebSocket ----

namespace {

constexpr std::string_view upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

void with_websocket(const http::websocket_options& options,
                    const std::function<void(http::websocket&)>& f) {
  std::exception_ptr error;
  const running_server server([&](http::request& in, http::response& out) {
    try {
      http::websocket ws = http::websocket::accept(in, out, options);
      f(ws);
    } catch (const std::exception&) {
      error = std::current_exception();
    }
  });
  server.exchange(sley_test::get("/", upgrade));
  if (error) std::rethrow_exception(error);
}

}  // namespace

CALLS(websocket, "http::websocket::accept(request in, response out, websocket_options options)") {
  http::websocket_options o;
  o.message_bytes = x.number<std::size_t>(100);
  o.protocols = x.text("chat");
  with_websocket(o, [](http::websocket& ws) { use(ws.read()); });
}
CALLS(websocket_writes, "http::websocket::write_text(string_view text)",
      "http::websocket::write_binary(span<byte> bytes)",
      "http::websocket::ping(string_view data)") {
  const std::string_view text = x.text("text");
  const auto bytes = x.bytes();
  const int which = x.pick<int>({0, 1, 2});
  with_websocket({}, [&](http::websocket& ws) {
    if (which == 0) ws.write_text(text);
    if (which == 1) ws.write_binary(bytes);
    if (which == 2) ws.ping(text);
  });
}
CALLS(websocket_writes_error, "http::websocket::write_text(string_view text, error_code error)",
      "http::websocket::write_binary(span<byte> bytes, error_code error)") {
  const std::string_view text = x.text("text");
  const auto bytes = x.bytes();
  std::error_code& error = x.error();
  with_websocket({}, [&](http::websocket& ws) {
    ws.write_text(text, error);
    ws.write_binary(bytes, error);
  });
}
CALLS(websocket_close, "http::websocket::close(uint16_t code, string_view reason)",
      "http::websocket::set_read_deadline(time_point when)") {
  const auto code = x.pick<std::uint16_t>(
      {x.number<std::uint16_t>(1000), 999, 1004, 1005, 1006, 1015, 2999, 3000, 4999, 5000});
  const std::string_view reason = x.text("reason");
  const auto when = x.time();
  with_websocket({}, [&](http::websocket& ws) {
    ws.set_read_deadline(when);
    ws.close(code, reason);
  });
}

// ---- <sley/debug.hpp> ----

CALLS(dump_goroutines, "debug::dump_goroutines(int fd)") {
  sley::debug::dump_goroutines(x.descriptor());
}
CALLS(goroutines_json, "debug::goroutines_json(size_t most_groups)") {
  use(sley::debug::goroutines_json(x.number<std::size_t>(1)).size());
}
CALLS(labels, "debug::labels::labels(span<label> added)") {
  const std::array<sley::debug::label, 1> added = {{{x.string("tenant"), x.string("a")}}};
  const sley::debug::labels scope(added);
  use(sley::debug::goroutines_json().size());
}
CALLS(dump_profile, "debug::dump_profile(int fd)") { sley::debug::dump_profile(x.descriptor()); }
CALLS(profile, "debug::profile(profile_kind kind)", "debug::profile_text(profile_kind kind)") {
  const auto kind = x.enumerator(sley::debug::profile_kind::goroutine);
  use(sley::debug::profile(kind).size());
  use(sley::debug::profile_text(kind).size());
}
CALLS(delta_profile, "debug::delta_profile(profile_kind kind, duration duration, context ctx)",
      "debug::delta_profile(profile_kind kind, duration duration, context ctx, error_code error)") {
  const auto kind = x.enumerator(sley::debug::profile_kind::block);
  const auto duration = x.duration();
  const auto [ctx, cancel] = sley::with_cancel(sley::context());
  cancel();  // some durations never end
  use(sley::debug::delta_profile(kind, duration, ctx, x.error()).size());
  use(sley::debug::delta_profile(kind, duration, ctx).size());
}
CALLS(set_block_profile_rate, "debug::set_block_profile_rate(duration rate)") {
  sley::debug::set_block_profile_rate(x.duration());
  sley::debug::set_block_profile_rate(std::chrono::nanoseconds(0));
}
CALLS(on_thread_block,
      "debug::on_thread_block(duration threshold, function<void(const long_thread_block&)> f)") {
  sley::debug::on_thread_block(x.duration(), [](const sley::debug::long_thread_block&) {});
  sley::debug::on_thread_block(std::chrono::nanoseconds(0), nullptr);
}
CALLS(set_mutex_profile_fraction, "debug::set_mutex_profile_fraction(int fraction)") {
  use(sley::debug::set_mutex_profile_fraction(x.number<int>(1)));
  use(sley::debug::set_mutex_profile_fraction(0));
}
CALLS(metrics_text, "debug::metrics_text(span<const metric> all)") {
  using sley::debug::metric;
  const std::string name = x.string("name");
  const std::string text = x.string("text");
  const auto what = x.enumerator(metric::kind::histogram);
  const std::vector<metric> all = {{name, text, what, 1, {{name, text}}, {{1}, {2, 3}, 4}}};
  use(sley::debug::metrics_text(all).size());
}
CALLS(goroutines_text, "debug::goroutines_text(span<goroutine_info const> all)") {
  std::vector<sley::debug::goroutine_info> all(1);
  all[0].name = x.string("name");
  all[0].state = x.string("state");
  all[0].created_at = x.number<std::uintptr_t>(4096);
  all[0].stack = {x.number<std::uintptr_t>(4096)};
  use(sley::debug::goroutines_text(all).size());
}
CALLS(function_name, "debug::function_name(uintptr_t address)") {
  use(sley::debug::function_name(x.number<std::uintptr_t>(4096)).size());
}
// Calls write(path) with a hostile path, or one that a test may make.
template <class F>
void write_trace_at(sley_hostile::arguments& x, const F& write) {
  const sley_test::temporary_folder folder;
  const std::string path = x.string((folder / "trace").string());
  // Not all texts are of files that a test may make.
  if (path.find('/') != std::string::npos || path.empty() || path.size() > 255) write(path);
}
CALLS(trace, "debug::trace::start(string path, format kind)") {
  const auto kind = x.enumerator(sley::debug::trace::format::perfetto);
  write_trace_at(x, [kind](const std::string& path) {
    sley::debug::trace::start(path, kind);
    sley::debug::trace::stop();
  });
}
CALLS(flight_recorder,
      "debug::trace::flight_recorder::flight_recorder(flight_recorder_options options)") {
  sley::debug::trace::flight_recorder_options options;
  options.bytes_per_processor = x.number(options.bytes_per_processor);
  options.on_death = x.string("");
  options.on_death_format = x.enumerator(options.on_death_format);
  const sley::debug::trace::flight_recorder recorder(options);
}
CALLS(write_flight_record, "debug::trace::flight_recorder::write(string path, format kind)") {
  const sley::debug::trace::flight_recorder recorder;
  const auto kind = x.enumerator(sley::debug::trace::format::perfetto);
  write_trace_at(x, [&](const std::string& path) { recorder.write(path, kind); });
}
CALLS(trace_notes, "debug::trace::log(string_view message)",
      "debug::trace::task::task(string_view name)", "debug::trace::task::log(string_view message)",
      "debug::trace::region::region(string_view name)",
      "debug::trace::region::region(task t, string_view name)") {
  const sley::debug::trace::flight_recorder recorder;
  const std::string_view text = x.text("text");
  sley::debug::trace::log(text);
  const sley::debug::trace::task task(text);
  task.log(text);
  const sley::debug::trace::region one(text);
  const sley::debug::trace::region other(task, text);
}
CALLS(debug_serve, "debug::serve(string_view host_port)") {
  // A server that it starts goes on until the process ends, so no text names a good address.
  const std::string_view host_port = x.text("");
  sley::debug::serve(host_port);
}
