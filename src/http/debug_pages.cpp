// The pages for a browser.
#include "http/live_page.hpp"
#include "http/pprof_pages.hpp"
#include "http/scratch_file.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/http/debug.hpp>
#include <sley/http/error.hpp>
#include <sley/http/server.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace sley::debug {

namespace {

std::vector<metric> all_metrics() {
  std::vector<metric> all = metrics();
  std::ranges::move(http::metrics(), std::back_inserter(all));
  return all;
}

std::string printed(void (*print)(int fd)) {
  const scratch_file scratch;
  print(scratch.descriptor());
  return scratch.text();
}

// The part of the page's name below "pprof/"; nullopt: it is another page.
std::optional<std::string_view> page_of_pprof(std::string_view page) {
  constexpr std::string_view folder = "pprof/";
  if (!page.starts_with(folder)) return std::nullopt;
  return page.substr(folder.size());
}

// All pages but one only show.
bool is_allowed(std::string_view method, std::optional<std::string_view> profile_page) {
  if (method == "GET" || method == "HEAD") return true;
  return method == "POST" && profile_page && takes_body(*profile_page);
}

void show(http::request& in, http::response& out) {
  constexpr std::string_view plain = "text/plain; charset=utf-8";
  const std::string_view page = in.param("page");
  const std::optional<std::string_view> profile_page = page_of_pprof(page);
  if (!is_allowed(in.method(), profile_page)) {
    out.headers().set("Allow", "GET, HEAD");
    out.send(405);
    return;
  }
  out.headers().set("Cache-Control", "no-store");
  // Go's profile of goroutines one by one is a dump.
  const http::parameters& query = in.query_parameters();
  const bool is_dump =
      profile_page == "goroutine" && query.get("debug") == "2" && !query.contains("seconds");
  if (page.empty()) {
    // The page takes nothing from elsewhere.
    out.headers().set("Content-Security-Policy",
                      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                      "connect-src 'self'");
    out.send(200, "text/html; charset=utf-8", live_page);
  } else if (page == "goroutines" || is_dump) {
    out.send(200, plain, printed(&dump_goroutines));
  } else if (page == "goroutines.json") {
    out.send(200, "application/json", goroutines_json());
  } else if (page == "threadblocks.json") {
    out.send(200, "application/json", thread_blocks_json());
  } else if (page == "profile") {
    out.send(200, plain, printed(&dump_profile));
  } else if (page == "metrics") {
    out.send(200, metrics_content_type, metrics_text(all_metrics()));
  } else if (page == "pprof") {
    out.redirect(301, std::string(in.raw_path()) + '/');
  } else if (profile_page) {
    show_pprof(in, out, *profile_page);
  } else {
    throw http::status_error(404);
  }
}

// "127.0.0.1", "127.0.0.1:80", "[::1]:80", "localhost:80"
bool is_loopback(std::string_view host_port) {
  const bool has_brackets = host_port.starts_with('[');
  std::string_view host = host_port.substr(0, host_port.find(has_brackets ? ']' : ':'));
  if (has_brackets) host.remove_prefix(1);
  if (host == "localhost") return true;
  try {
    const std::string address = net::endpoint(host, 0).host();
    return address.starts_with("127.") || address == "::1";
  } catch (const std::system_error&) {
    return false;  // a name
  }
}

}  // namespace

http::handler pages() { return &show; }

http::handler for_this_machine(http::handler next) {
  return [next = std::move(next)](http::request& in, http::response& out) {
    if (!is_loopback(in.host()) || !is_loopback(in.header("Host"))) throw http::status_error(403);
    next(in, out);
  };
}

net::endpoint serve(std::string_view host_port) {
  if (!is_loopback(host_port)) {
    throw std::invalid_argument("sley::debug::serve: " + detail::quoted(host_port) +
                                " is not a loopback address with a port");
  }
  http::router routes;
  routes.handle("", "/debug/{page...}", pages());
  routes.use(&for_this_machine);
  auto listener = net::tcp_listener::listen(host_port);
  const net::endpoint local = listener.local();
  const auto server = std::make_shared<http::server>(routes);
  go(go_options{.name = "sley debug server"},
     [server, listening = std::move(listener)]() mutable { server->serve(std::move(listening)); });
  return local;
}

}  // namespace sley::debug
