#include <sley/http/router.hpp>

#include "http/route_tree.hpp"

#include <sley/detail/c_text.hpp>

#include <algorithm>
#include <stdexcept>

namespace sley::http {

namespace detail {

route_tree::route_tree() {
  chain_ = [this](request& in, response& out) { dispatch(in, out); };
}

void route_tree::add(pattern p, handler h) {
  if (!h)
    throw std::invalid_argument("sley: the handler for " + sley::detail::quoted(p.to_string()) +
                                " is empty");
  for (const auto& other : routes_) {
    const relation r = compare(p, other->what);
    if (r == relation::equal || r == relation::overlapping) {
      throw std::logic_error("sley: the patterns " + sley::detail::quoted(p.to_string()) + " and " +
                             sley::detail::quoted(other->what.to_string()) +
                             " match the same requests, and neither is more specific");
    }
  }
  routes_.push_back(std::make_unique<route>(route{std::move(p), std::move(h)}));
  const route* added = routes_.back().get();
  node* at = &root_;
  for (const pattern::segment& s : added->what.segments) {
    if (s.what == pattern::kind::rest) {
      at->rest.push_back(added);
      return;
    }
    std::unique_ptr<node>& next = s.what == pattern::kind::any ? at->any : at->literals[s.text];
    if (!next) next = std::make_unique<node>();
    at = next.get();
  }
  at->here.push_back(added);
}

void route_tree::use(const middleware& m) {
  middlewares_.push_back(m);
  handler chain = [this](request& in, response& out) { dispatch(in, out); };
  for (auto next = middlewares_.rbegin(); next != middlewares_.rend(); ++next) {
    chain = (*next)(std::move(chain));
    if (!chain) throw std::invalid_argument("sley: a middleware returned an empty handler");
  }
  chain_ = std::move(chain);
}

// ---- a request ----

void route_tree::dispatch(request& in, response& out) const {
  search s;
  s.method = in.method();
  const std::string_view path = in.raw_path();
  if (!path.starts_with('/') || !find(root_, path.substr(1), s)) {
    if (path == "*") return out.set_status(204);
    return refuse(s, out);
  }
  request_builder::matches params;
  for (const pattern::segment& part : s.found->what.segments) {
    if (part.what != pattern::kind::literal) {
      params.emplace_back(part.text, std::move(s.values[params.size()]));
    }
  }
  const bool has_rest = s.found->what.segments.back().what == pattern::kind::rest;
  request_builder::set_params(in, params, has_rest);
  s.found->serve(in, out);
}

// `path` is what is left behind a slash. More specific parts first; if what they lead to does not
// match in the end, the others are tried.
bool route_tree::find(const node& at, std::string_view path, search& s) {
  if (find_below(at, path, s)) return true;
  if (at.rest.empty()) return false;
  s.values.push_back(percent_decode(path).value_or(""));
  if (choose(at.rest, s)) return true;
  s.values.pop_back();
  return false;
}

bool route_tree::find_below(const node& at, std::string_view path, search& s) {
  const std::size_t slash = path.find('/');
  const std::string_view raw = path.substr(0, slash);
  const std::string segment = percent_decode(raw).value_or("");
  const auto go_on = [&](const node& next) {
    return slash == std::string_view::npos ? choose(next.here, s)
                                           : find(next, path.substr(slash + 1), s);
  };
  const auto literal = at.literals.find(segment);
  if (literal != at.literals.end() && go_on(*literal->second)) return true;
  if (!at.any || segment.empty()) return false;
  s.values.push_back(segment);
  if (go_on(*at.any)) return true;
  s.values.pop_back();
  return false;
}

// Chooses among routes that differ in their method alone.
bool route_tree::choose(const std::vector<const route*>& routes, search& s) {
  const auto take = [&](std::string_view method) {
    for (const route* r : routes) {
      if (s.found == nullptr && r->what.method == method) s.found = r;
    }
    return s.found != nullptr;
  };
  if (take(s.method) || (s.method == "HEAD" && take("GET")) || take("")) return true;
  for (const route* r : routes) s.allowed.push_back(r->what.method);
  return false;
}

void route_tree::refuse(search& s, response& out) {
  if (s.allowed.empty()) return out.send(404);
  if (std::ranges::find(s.allowed, "GET") != s.allowed.end()) s.allowed.emplace_back("HEAD");
  s.allowed.emplace_back("OPTIONS");
  std::ranges::sort(s.allowed);
  s.allowed.erase(std::unique(s.allowed.begin(), s.allowed.end()), s.allowed.end());
  std::string list;
  for (const std::string& method : s.allowed) list += (list.empty() ? "" : ", ") + method;
  out.headers().set("Allow", list);
  out.send(s.method == "OPTIONS" ? 204 : 405);
}

}  // namespace detail

router::router() : tree_(std::make_shared<detail::route_tree>()) {}

void router::handle(std::string_view method, std::string_view pattern, handler h) {
  tree_->add(detail::pattern::parse(method, pattern), std::move(h));
}

void router::use(const middleware& m) { tree_->use(m); }

void router::operator()(request& in, response& out) const { tree_->serve(in, out); }

}  // namespace sley::http
