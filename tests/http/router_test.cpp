// Which handler a request gets. The rules come from Go's http.ServeMux (1.22), but for a final
// slash.
#include "support/web.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

using sley::http::handler;
using sley::http::request;
using sley::http::response;
using sley::http::router;
using sley_test::body_of;
using sley_test::get;
using sley_test::has;
using sley_test::running_server;
using sley_test::status_of;

namespace {

// Answers with its own name and what the parameters are.
handler named(std::string name) {
  return [name](request& in, response& out) {
    std::string text = name;
    for (const char* p : {"id", "a", "b", "rest"}) {
      if (!in.param(p).empty()) text += ' ' + std::string(p) + '=' + std::string(in.param(p));
    }
    out.send(200, "", text);
  };
}

std::string ask(const running_server& web, std::string_view method, std::string_view target) {
  const std::string answer = web.exchange(std::string(method) + ' ' + std::string(target) +
                                          " HTTP/1.1\r\nHost: x\r\n\r\n");
  return status_of(answer) == 200 ? body_of(answer) : std::to_string(status_of(answer));
}

std::string conflict(std::string_view one_method, std::string_view one, std::string_view two_method,
                     std::string_view two) {
  router r;
  r.handle(one_method, one, named("1"));
  try {
    r.handle(two_method, two, named("2"));
    return "";
  } catch (const std::logic_error& e) {
    return e.what();
  }
}

}  // namespace

GO_TEST(router, the_most_specific_pattern_wins) {
  router r;
  r.get("/", named("root"));
  r.get("/users/{id}", named("user"));
  r.get("/users/me", named("me"));
  r.get("/users/{id}/posts/{a}", named("post"));
  r.get("/files/{rest...}", named("files"));
  r.get("/files/index", named("index"));
  r.get("/a/{b}/c", named("abc"));
  r.get("/{rest...}", named("all"));
  const running_server web(r);
  EXPECT_EQ(ask(web, "GET", "/"), "root");
  EXPECT_EQ(ask(web, "GET", "/users/7"), "user id=7");
  EXPECT_EQ(ask(web, "GET", "/users/me"), "me");
  EXPECT_EQ(ask(web, "GET", "/users/7/posts/x%20y"), "post id=7 a=x y");
  EXPECT_EQ(ask(web, "GET", "/users/a%2Fb"), "user id=a/b");
  EXPECT_EQ(ask(web, "GET", "/users/%6De"), "me");
  EXPECT_EQ(ask(web, "GET", "/users/"), "all rest=users/");
  EXPECT_EQ(ask(web, "GET", "/users/me/x"), "all rest=users/me/x");
  EXPECT_EQ(ask(web, "GET", "/files/a/b/"), "files rest=a/b/");
  EXPECT_EQ(ask(web, "GET", "/files/"), "files");
  EXPECT_EQ(ask(web, "GET", "/files/index"), "index");
  EXPECT_EQ(ask(web, "GET", "/a/x/d"), "all rest=a/x/d");
}

GO_TEST(router, knows_methods) {
  router r;
  r.get("/x", named("get"));
  r.post("/x", named("post"));
  r.handle("", "/any/one", named("any"));
  r.put("/any/one", named("put"));
  r.get("/{id}", named("id"));
  r.handle("HEAD", "/head", named("head"));
  const running_server web(r);
  EXPECT_EQ(ask(web, "GET", "/x"), "get");
  EXPECT_EQ(ask(web, "POST", "/x"), "post");
  EXPECT_EQ(ask(web, "PUT", "/any/one"), "put");
  EXPECT_EQ(ask(web, "DELETE", "/any/one"), "any");
  EXPECT_EQ(ask(web, "HEAD", "/x"), "");
  EXPECT_EQ(ask(web, "HEAD", "/head"), "");
  EXPECT_EQ(ask(web, "GET", "/head"), "id id=head");  // the other one is for HEAD alone
  EXPECT_EQ(ask(web, "GET", "/none/none"), "404");
  EXPECT_EQ(ask(web, "DELETE", "/x"), "405");
  const std::string refused = web.exchange("DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(has(refused, "Allow: GET, HEAD, OPTIONS, POST\r\n")) << refused;
  const std::string options = web.exchange("OPTIONS /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_of(options), 204);
  EXPECT_TRUE(has(options, "Allow: GET, HEAD, OPTIONS, POST\r\n")) << options;
  EXPECT_EQ(ask(web, "OPTIONS", "*"), "204");
  EXPECT_EQ(ask(web, "CONNECT", "host:80"), "404");
}

GO_TEST(router, refuses_ambiguous_patterns) {
  EXPECT_TRUE(has(conflict("GET", "/a", "GET", "/a"), "\"GET /a\""));
  EXPECT_TRUE(has(conflict("GET", "/{a}/x", "GET", "/y/{b}"), "\"GET /{a}/x\""));
  EXPECT_TRUE(has(conflict("GET", "/{a}", "GET", "/{b}"), "\"GET /{b}\""));
  EXPECT_NE(conflict("GET", "/{a}/{rest...}", "GET", "/{b}/{rest...}"), "");
  EXPECT_NE(conflict("GET", "/{a}/x/{rest...}", "GET", "/y/{rest...}"), "");
  EXPECT_NE(conflict("GET", "/{a}", "", "/x"), "");
  EXPECT_NE(conflict("", "/x", "", "/x"), "");

  EXPECT_EQ(conflict("GET", "/a", "POST", "/a"), "");
  EXPECT_EQ(conflict("GET", "/a", "HEAD", "/a"), "");
  EXPECT_EQ(conflict("GET", "/a", "", "/a"), "");
  EXPECT_EQ(conflict("GET", "/a/x", "GET", "/a/{b}"), "");
  EXPECT_EQ(conflict("GET", "/a/{b}", "GET", "/a/{b}/c"), "");
  EXPECT_EQ(conflict("GET", "/a/{rest...}", "GET", "/a/{b}"), "");
  EXPECT_EQ(conflict("GET", "/{rest...}", "GET", "/a/{rest...}"), "");
  EXPECT_EQ(conflict("GET", "/a/", "GET", "/a/{b}"), "");
  EXPECT_EQ(conflict("POST", "/{a}/x", "GET", "/y/{b}"), "");
}

GO_TEST(router, refuses_patterns_that_are_none) {
  router r;
  for (const char* bad : {"", "x", "/{}", "/{a", "/a}", "/x{a}", "/{a}x", "/{a...}/b", "/{...}",
                          "/{a}/{a}", "/%zz", "/{a.b}"}) {
    EXPECT_THROW(r.get(bad, named("x")), std::invalid_argument) << bad;
  }
  EXPECT_THROW(r.handle("G T", "/", named("x")), std::invalid_argument);
  EXPECT_THROW(r.get("/", handler()), std::invalid_argument);
}

GO_TEST(router, patterns_have_at_most_128_segments) {
  const auto path = [](int segments, const std::string& segment) {
    std::string text;
    for (int i = 0; i < segments; ++i) text += '/' + segment;
    return text;
  };
  router r;
  r.get(path(128, "a"), named("deep"));
  for (const int segments : {129, 1000, 100'000}) {
    EXPECT_THROW(r.get(path(segments, "a"), named("x")), std::invalid_argument) << segments;
    EXPECT_THROW(r.get(path(segments, ""), named("x")), std::invalid_argument) << segments;
  }
  const running_server server(r);
  EXPECT_EQ(body_of(server.exchange(get(path(128, "a")))), "deep");
  EXPECT_EQ(status_of(server.exchange(get(path(3000, "a")))), 404);
}

GO_TEST(router, everything_goes_through_the_middleware) {
  router r;
  r.get("/x", named("x"));
  const auto tag = [](std::string name) {
    return [name](handler next) -> handler {
      return [name, next](request& in, response& out) {
        if (in.path() == "/stop") return out.send(403);
        out.headers().add("X-Through", name);
        next(in, out);
      };
    };
  };
  r.use(tag("first"));
  r.use(tag("second"));
  r.post("/late", named("late"));
  const running_server web(r);
  const std::string answer = web.exchange(get("/x"));
  EXPECT_LT(answer.find("X-Through: first"), answer.find("X-Through: second"));
  EXPECT_EQ(status_of(web.exchange(get("/stop"))), 403);
  EXPECT_TRUE(has(web.exchange(get("/none")), "X-Through: second"));
  EXPECT_EQ(ask(web, "POST", "/late"), "late");
}

GO_TEST(router, is_a_handler_like_any_other) {
  router inner;
  inner.get("/api/{id}", named("inner"));
  router outer;
  outer.handle("", "/{rest...}", named("outer"));
  outer.handle("", "/api/{rest...}", inner);
  const running_server web(outer);
  EXPECT_EQ(ask(web, "GET", "/api/5"), "inner id=5");
  EXPECT_EQ(ask(web, "GET", "/x"), "outer rest=x");
  EXPECT_EQ(ask(web, "GET", "/api/5/6"), "404");
}
