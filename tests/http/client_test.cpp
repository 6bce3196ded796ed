// The client against our own server: messages, bodies, redirects, kept connections.
#include "support/web.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

using sley::http::client;
using sley::http::client_options;
using sley::http::client_request;
using sley::http::client_response;
using sley::http::errc;
using sley::http::request;
using sley::http::response;
using sley::http::url;
using sley_test::eventually;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

// What came, one per line; then the body.
void describe(request& in, response& out) {
  std::string text = std::string(in.method()) + ' ' + std::string(in.target()) + '\n';
  for (const auto& f : in.headers()) {
    text += std::string(f.name) + ": " + std::string(f.value) + '\n';
  }
  out.send(200, "text/plain", text + '\n' + in.body().read_all());
}

std::string url_of(const running_server& web, std::string_view target = "/") {
  return "http://" + web.address + std::string(target);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A source of `left` bytes.
auto bytes(std::size_t left) {
  return [left](std::span<std::byte> buffer) mutable {
    const std::size_t n = std::min(buffer.size(), left);
    std::memset(buffer.data(), 'x', n);
    left -= n;
    return n;
  };
}

std::error_code error_of(client& c, client_request r) {
  std::error_code error;
  c.send(std::move(r), error);
  return error;
}

}  // namespace

GO_TEST(client, gets) {
  const running_server web(describe);
  client c({.decompress = false});
  client_response r = c.get(url_of(web, "/a?b=c#d"));
  EXPECT_EQ(r.status(), 200);
  EXPECT_TRUE(r.is_ok());
  EXPECT_EQ(r.version(), 11);
  EXPECT_EQ(r.header("content-type"), "text/plain");
  EXPECT_EQ(r.url().target, "/a?b=c");
  EXPECT_EQ(r.read_all(), "GET /a?b=c\nHost: " + web.address + "\nUser-Agent: sley\n\n");
}

GO_TEST(client, posts_and_sends_headers) {
  const running_server web(describe);
  client c({.decompress = false});
  const std::string posted = c.post(url_of(web), "text/x", "hello").read_all();
  EXPECT_TRUE(has(posted, "POST /\n")) << posted;
  EXPECT_TRUE(has(posted, "Content-Type: text/x\n")) << posted;
  EXPECT_TRUE(has(posted, "Content-Length: 5\n\nhello")) << posted;
  EXPECT_TRUE(has(c.post(url_of(web), "", {}).read_all(), "Content-Length: 0\n"));
  client_request r{.method = "PURGE", .url = url_of(web)};
  r.headers.set("Host", "other");
  r.headers.set("User-Agent", "me");
  const std::string sent = c.send(r).read_all();
  EXPECT_EQ(sent, "PURGE /\nHost: other\nUser-Agent: me\n\n");
}

GO_TEST(client, refuses_a_request_that_it_cannot_send) {
  client c;
  std::error_code error;
  for (const char* bad : {"no url", "http:///", "http://a b/", "http://a/b c", "http://a\r\nX:1/",
                          "http://a\r\nX/", "http://a/\r\nX:1"}) {
    c.get(bad, error);
    EXPECT_EQ(error, std::errc::invalid_argument) << bad;
  }
  c.get("https://127.0.0.1/", error);
  EXPECT_EQ(error, std::errc::protocol_not_supported);
  EXPECT_THROW(c.send({.method = "A B", .url = "http://a/"}), std::invalid_argument);
  EXPECT_THROW(c.send({.method = "CONNECT", .url = "http://a/"}), std::invalid_argument);
  EXPECT_THROW(client({.user_agent = "a\r\nX: 1"}), std::invalid_argument);
  client_request r{.url = "http://a/"};
  r.headers.set("Content-Length", "1");
  EXPECT_THROW(c.send(r), std::logic_error);
}

GO_TEST(client, names_the_request_in_errors) {
  auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const std::string nobody = "http://" + listener.local().to_string() + "/x";
  listener.close();
  client c;
  try {
    c.get(nobody);
    ADD_FAILURE() << "no server answered, and yet there was an answer";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::connection_refused);
    EXPECT_TRUE(has(e.what(), "GET \"" + nobody + '"')) << e.what();
  }
}

namespace {

// Answers while it reads.
void echo_piecewise(request& in, response& out) {
  std::string buffer(64 << 10, ' ');
  while (const std::size_t n = in.body().read_some(std::as_writable_bytes(std::span(buffer)))) {
    out.write(std::string_view(buffer).substr(0, n));
    out.flush();
  }
}

}  // namespace

GO_TEST(client, sends_bodies_of_all_kinds) {
  const running_server web(echo_piecewise);
  client c;
  constexpr std::size_t size = 1 << 20;
  EXPECT_EQ(c.post(url_of(web), "", {bytes(size), size}).read_all().size(), size);
  const std::string text(size, 'y');
  EXPECT_EQ(c.post(url_of(web), "", text).read_all(), text);
  EXPECT_EQ(c.post(url_of(web), "", std::as_bytes(std::span(text))).read_all(), text);
  EXPECT_EQ(c.post(url_of(web), "", bytes(size)).read_all().size(), size);
  EXPECT_EQ(c.post(url_of(web), "", bytes(0)).read_all(), "");
}

GO_TEST(client, sends_while_it_reads) {
  const running_server web(echo_piecewise);
  client c;
  const sley::chan<std::string> pieces(1);
  pieces.send("first");
  client_response r = c.post(url_of(web), "", [&](std::span<std::byte> buffer) -> std::size_t {
    const auto piece = pieces.receive();
    if (!piece) return 0;
    std::memcpy(buffer.data(), piece->data(), piece->size());
    return piece->size();
  });
  for (const std::string next : {"second", "third"}) {
    std::string buffer(100, ' ');
    EXPECT_GT(r.body().read_some(std::as_writable_bytes(std::span(buffer))), 0U);
    pieces.send(next);
  }
  pieces.close();
  EXPECT_TRUE(has(r.read_all(), "third"));
  EXPECT_EQ(c.idle_connections(), 1U);
}

GO_TEST(client, hands_on_an_exception_of_a_source) {
  const running_server web(describe);
  client c;
  const auto fails = [](std::span<std::byte>) -> std::size_t { throw 42; };
  EXPECT_THROW(c.post(url_of(web), "", fails), int);
  EXPECT_THROW(c.post(url_of(web), "", {bytes(10), 11}), std::logic_error);
  EXPECT_THROW(c.post(url_of(web), "", {bytes(10), 9}), std::logic_error);
  EXPECT_EQ(c.idle_connections(), 0U);
}

GO_TEST(client, limits_bodies) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/chunks") out.flush();
    out.write(std::string(100, 'x'));
  });
  client c({.body_bytes = 99});
  for (const std::string target : {"/", "/chunks"}) {
    std::error_code error;
    client_response r = c.get(url_of(web, target));
    r.read_all(SIZE_MAX, error);
    EXPECT_EQ(error, errc::body_too_large);
    client_response wider = c.get(url_of(web, target));
    wider.body().set_limit(100);
    EXPECT_EQ(wider.read_all().size(), 100U);
  }
}

GO_TEST(client, reads_trailers) {
  const running_server web([](request&, response& out) {
    out.write("a");
    out.flush();
    out.trailers().add("X-Sum", "7");
  });
  client c;
  client_response r = c.get(url_of(web));
  EXPECT_EQ(r.read_all(), "a");
  EXPECT_EQ(r.trailers().get("x-sum"), "7");
  EXPECT_FALSE(r.headers().contains("X-Sum"));
}

GO_TEST(client, knows_answers_without_a_body) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/204") return out.set_status(204);
    if (in.path() == "/304") return out.set_status(304);
    out.headers().set("Content-Length", "1000");
    if (in.method() != "HEAD") out.write(std::string(1000, 'x'));
  });
  client c;
  client_response head = c.send({.method = "HEAD", .url = url_of(web)});
  EXPECT_EQ(head.header("Content-Length"), "1000");
  EXPECT_EQ(head.read_all(), "");
  EXPECT_EQ(c.get(url_of(web, "/204")).read_all(), "");
  EXPECT_EQ(c.get(url_of(web, "/304")).read_all(), "");
  EXPECT_EQ(c.get(url_of(web)).read_all().size(), 1000U);
  EXPECT_EQ(web.server.open_connections(), 1U);  // all of them took the same
}

// ---- Expect: 100-continue ----

GO_TEST(client, sends_an_expected_body_when_asked_and_not_when_refused) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/no") return out.send(403);
    out.send(200, "", in.body().read_all());
  });
  client c({.expect_timeout = 0ns});  // asked, or never
  client_request r{.method = "PUT", .url = url_of(web), .body = "hello"};
  r.headers.set("Expect", "100-continue");
  EXPECT_EQ(c.send(r).read_all(), "hello");
  EXPECT_EQ(c.idle_connections(), 1U);
  r.url = url_of(web, "/no");
  std::atomic<bool> was_called{false};
  r.body = [&](std::span<std::byte>) -> std::size_t {
    was_called = true;
    return 0;
  };
  EXPECT_EQ(c.send(r).status(), 403);
  EXPECT_FALSE(was_called);
  EXPECT_EQ(c.idle_connections(), 0U);
}

// ---- redirects ----

namespace {

void redirecting(request& in, response& out) {
  const std::string_view path = in.path();
  if (path.starts_with("/to/")) {
    return out.redirect(std::stoi(std::string(path.substr(4))), "../end?x=1");
  }
  if (path == "/loop") return out.redirect(302, "/loop");
  if (path == "/nowhere") return out.send(302, "", "no location");
  if (path == "/bad") return out.redirect(302, "http://[/");
  describe(in, out);
}

}  // namespace

GO_TEST(client, follows_redirects_as_go_does) {
  const running_server web(redirecting);
  client c;
  for (const int status : {301, 302, 303, 307, 308}) {
    const bool keeps = status == 307 || status == 308;
    client_request r{
        .method = "POST", .url = url_of(web, "/to/" + std::to_string(status)), .body = "hello"};
    r.headers.set("Content-Type", "text/x");
    client_response answer = c.send(r);
    EXPECT_EQ(answer.url().target, "/end?x=1");
    const std::string text = answer.read_all();
    EXPECT_TRUE(has(text, keeps ? "POST /end?x=1\n" : "GET /end?x=1\n")) << text;
    EXPECT_EQ(has(text, "hello"), keeps) << text;
    EXPECT_EQ(has(text, "Content-Type"), keeps) << text;
  }
  EXPECT_EQ(c.send({.method = "HEAD", .url = url_of(web, "/to/302")}).status(), 200);
  // A body from a source is gone once it was sent, so it cannot be sent again.
  EXPECT_EQ(c.post(url_of(web, "/to/307"), "", bytes(1)).status(), 307);
  EXPECT_EQ(c.get(url_of(web, "/nowhere")).status(), 302);
}

GO_TEST(client, ends_redirects_that_do_not_end) {
  const running_server web(redirecting);
  client c;
  EXPECT_EQ(error_of(c, {.url = url_of(web, "/loop")}), errc::too_many_redirects);
  EXPECT_EQ(error_of(c, {.url = url_of(web, "/bad")}), errc::malformed);
  client none({.redirects = 0});
  EXPECT_EQ(none.get(url_of(web, "/loop")).status(), 302);
}

GO_TEST(client, tells_secrets_to_the_same_host_only) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/there") return out.redirect(302, "http://127.0.0.2:1/");
    if (in.path() == "/here") return out.redirect(302, "/");
    describe(in, out);
  });
  // The other host is the same server.
  client c({.connect = [&](const sley::context&, const url&) {
    return sley::http::make_connection(sley::net::tcp_stream::connect(web.address));
  }});
  client_request r{.url = url_of(web, "/here")};
  r.headers.set("Authorization", "secret");
  r.headers.set("X-Other", "1");
  EXPECT_TRUE(has(c.send(r).read_all(), "secret"));
  r.url = url_of(web, "/there");
  const std::string text = c.send(r).read_all();
  EXPECT_FALSE(has(text, "secret")) << text;
  EXPECT_TRUE(has(text, "X-Other")) << text;
  EXPECT_TRUE(has(text, "Host: 127.0.0.2:1\n")) << text;
}

GO_TEST(client, resolves_references) {
  const url base = url::parse("http://host:81/a/b/c?q=1");
  const auto resolved = [&](std::string_view reference) {
    const auto u = base.resolve(reference);
    return u ? u->to_string() : "none";
  };
  EXPECT_EQ(resolved("https://x/y"), "https://x/y");
  EXPECT_EQ(resolved("//x/y"), "http://x/y");
  EXPECT_EQ(resolved("/y"), "http://host:81/y");
  EXPECT_EQ(resolved("y"), "http://host:81/a/b/y");
  EXPECT_EQ(resolved("../y/./z/.."), "http://host:81/a/y/");
  EXPECT_EQ(resolved("../../../../y"), "http://host:81/y");
  EXPECT_EQ(resolved("?r=2"), "http://host:81/a/b/c?r=2");
  EXPECT_EQ(resolved("#f"), "http://host:81/a/b/c?q=1");
  EXPECT_EQ(resolved("y?u=http://z"), "http://host:81/a/b/y?u=http://z");
  EXPECT_EQ(resolved("mailto:me"), "none");
  EXPECT_EQ(resolved("a b"), "none");
}

// ---- connections ----

GO_TEST(client, keeps_connections_that_were_read_to_the_end) {
  const running_server web([](request& in, response& out) {
    out.write(std::string(in.path() == "/much" ? 1 << 20 : 10, 'x'));
  });
  client c;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(c.get(url_of(web)).read_all().size(), 10U);
  EXPECT_EQ(c.idle_connections(), 1U);
  EXPECT_EQ(web.server.open_connections(), 1U);
  EXPECT_EQ(c.get(url_of(web, "/much")).status(), 200);  // is dropped
  EXPECT_EQ(c.idle_connections(), 0U);
  client_request r{.url = url_of(web)};
  r.headers.set("Connection", "close");
  EXPECT_EQ(c.send(r).read_all().size(), 10U);
  EXPECT_EQ(c.idle_connections(), 0U);
  c.get(url_of(web)).read_all();
  EXPECT_EQ(c.idle_connections(), 1U);
  c.close_idle();
  EXPECT_EQ(c.idle_connections(), 0U);
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
}

GO_TEST(client, ends_idle_connections) {
  const running_server web(describe);
  client c({.idle_timeout = 1ms});
  c.get(url_of(web)).read_all();
  EXPECT_TRUE(eventually([&] { return c.idle_connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
  client none({.idle_connections = 0});
  none.get(url_of(web)).read_all();
  EXPECT_EQ(none.idle_connections(), 0U);
}

GO_TEST(client, has_no_more_connections_to_a_host_than_it_may) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  const running_server web([&](request&, response& out) {
    const int n = ++now;
    for (int m = most; n > m && !most.compare_exchange_weak(m, n);) {
    }
    sley::this_goroutine::yield();
    out.send(200, "", "x");
    --now;
  });
  client c({.connections_per_host = 3});
  sley::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&] {
      for (int j = 0; j < sley_test::rounds(20); ++j) {
        EXPECT_EQ(c.get(url_of(web)).read_all(), "x");
      }
    });
  }
  group.wait();
  EXPECT_LE(most, 3);
  EXPECT_LE(c.idle_connections(), 3U);
}

GO_TEST(client, asks_nothing_with_a_context_that_has_ended) {
  std::atomic<int> asked{0};
  const running_server web([&](request&, response& out) {
    ++asked;
    out.send(200, "", "x");
  });
  client c;
  c.get(url_of(web)).read_all();  // keeps a connection
  const auto [canceled, cancel] = sley::with_cancel({});
  cancel();
  const auto [late, cancel_late] = sley::with_timeout({}, -1s);
  for (const sley::context& ctx : {canceled, late}) {
    for (int i = 0; i < sley_test::rounds(20); ++i) {
      EXPECT_EQ(error_of(c, {.url = url_of(web), .context = ctx}), ctx.error());
      client fresh;
      EXPECT_EQ(error_of(fresh, {.url = url_of(web), .context = ctx}), ctx.error());
      EXPECT_EQ(error_of(fresh, {.url = "no url", .context = ctx}), ctx.error());
    }
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(c.idle_connections(), 1U);
}

GO_TEST(client, responses_outlive_the_client) {
  const running_server web([](request&, response& out) { out.write(std::string(1 << 20, 'x')); });
  client_response r;
  EXPECT_EQ(r.status(), 0);
  {
    client c;
    r = c.get(url_of(web));
  }
  EXPECT_EQ(r.read_all().size(), 1U << 20);
}
