// The patterns of a router, as a tree of their segments.
#pragma once

#include "http/request_builder.hpp"

#include <sley/http/router.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sley::http::detail {

// "/users/{id}/{rest...}" taken apart.
struct pattern {
  enum class kind { literal, any, rest };
  struct segment {
    kind what;
    std::string text;  // decoded; the name of a parameter
  };

  // Throws std::invalid_argument.
  static pattern parse(std::string_view method, std::string_view path);
  std::string to_string() const { return method.empty() ? path : method + ' ' + path; }

  std::string method;
  std::string path;
  std::vector<segment> segments;
};

// How the requests that two patterns match relate to each other.
enum class relation { equal, more_specific, more_general, overlapping, disjoint };
relation compare(const pattern& a, const pattern& b);

class route_tree {
 public:
  route_tree();
  void add(pattern p, handler h);
  void use(const middleware& m);
  void serve(request& in, response& out) const { chain_(in, out); }

 private:
  struct route {
    pattern what;
    handler serve;
  };
  struct node {
    std::map<std::string, std::unique_ptr<node>, std::less<>> literals;
    std::unique_ptr<node> any;
    std::vector<const route*> here;  // patterns that end here
    std::vector<const route*> rest;  // those whose last part is {name...}
  };
  // A walk down the tree for one request.
  struct search {
    std::string_view method;
    std::vector<std::string> values;   // of the parameters on the way
    std::vector<std::string> allowed;  // methods of routes that match but for the method
    const route* found = nullptr;
  };

  static bool find(const node& at, std::string_view path, search& s);
  static bool find_below(const node& at, std::string_view path, search& s);
  static bool choose(const std::vector<const route*>& routes, search& s);
  void dispatch(request& in, response& out) const;
  static void refuse(search& s, response& out);

  node root_;
  std::vector<std::unique_ptr<route>> routes_;
  std::vector<middleware> middlewares_;
  handler chain_;
};

}  // namespace sley::http::detail
