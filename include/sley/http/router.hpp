// From a method and a path to a handler.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/request.hpp>
#include <sley/http/response.hpp>

#include <functional>
#include <memory>
#include <string_view>

namespace sley::http {

// Answers a request.
using handler = std::function<void(request&, response&)>;
// Takes what comes next and returns what comes before it:
//   [](handler next) { return [next](request& in, response& out) { ...; next(in, out); }; }
using middleware = std::function<handler(handler)>;

namespace detail {
class route_tree;
}

// Patterns are paths: "/users/{id}/posts", where {id} matches one segment, and "/files/{path...}",
// where the last part matches all that is left, also nothing. Segments are decoded before they are
// compared, after the path was split: "%2F" is no slash. request::param("id") tells what matched.
//
// Of the patterns that match, the most specific wins: one all of whose requests another takes as
// well. Two that overlap otherwise can't be told apart: registering the second throws
// std::logic_error with both. From Go's http.ServeMux (1.22), but that a final slash has no
// meaning.
//
// Nothing matches: 404; other methods would: 405 with Allow. A handler for GET serves HEAD as well,
// and OPTIONS is answered with Allow where it has no handler.
//
// A handle: copies name the same router. It is a handler itself. Register before serving: that and
// use() are not for several threads.
class SLEY_API router {
 public:
  router();

  // The handler for requests of that method whose path matches; erase() is for DELETE.
  void get(std::string_view pattern, handler h) { handle("GET", pattern, std::move(h)); }
  void post(std::string_view pattern, handler h) { handle("POST", pattern, std::move(h)); }
  void put(std::string_view pattern, handler h) { handle("PUT", pattern, std::move(h)); }
  void patch(std::string_view pattern, handler h) { handle("PATCH", pattern, std::move(h)); }
  void erase(std::string_view pattern, handler h) { handle("DELETE", pattern, std::move(h)); }
  // An empty method stands for all of them. Throws std::invalid_argument for a pattern that is
  // none, or has more than 128 segments.
  void handle(std::string_view method, std::string_view pattern, handler h);
  // Every request goes through it, also one without a handler. The middleware added first comes
  // first.
  void use(const middleware& m);

  // Has the handler that matches answer.
  void operator()(request& in, response& out) const;

 private:
  std::shared_ptr<detail::route_tree> tree_;
};

}  // namespace sley::http
