#include "site.hpp"

#include <sley/http/debug.hpp>
#include <sley/sync.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace webserver {

namespace http = sley::http;

namespace {

constexpr std::string_view page = R"(<!doctype html>
<title>sley</title>
<h1>It runs.</h1>
<p>Every connection has a goroutine of its own.
<p><a href="/api/values">values</a>: PUT, GET and DELETE /api/values/NAME
<p><a href="/debug/">what goes on inside</a>
)";

// A JSON string, quotes and all.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ') {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

void send_json(http::response& out, int status, std::string_view text) {
  out.send(status, "application/json", text);
}

// Texts by name. The lock parks the goroutine that has to wait for it.
class values {
 public:
  void list(http::response& out) {
    std::string json = "{";
    {
      const std::lock_guard guard(lock_);
      for (const auto& [name, text] : texts_) {
        if (json.size() > 1) json += ", ";
        json += json_string(name) + ": " + json_string(text);
      }
    }
    send_json(out, 200, json + "}\n");
  }

  void get(const http::request& in, http::response& out) {
    const std::lock_guard guard(lock_);
    const auto found = texts_.find(in.param("name"));
    if (found == texts_.end()) throw http::status_error(404);
    send_json(out, 200, json_string(found->second) + '\n');
  }

  void put(http::request& in, http::response& out) {
    std::string text = in.body().read_all(64 << 10);
    const std::lock_guard guard(lock_);
    if (texts_.size() >= 1000) throw http::status_error(507);
    texts_.insert_or_assign(std::string(in.param("name")), std::move(text));
    out.send(204);
  }

  void erase(const http::request& in, http::response& out) {
    const std::lock_guard guard(lock_);
    const auto found = texts_.find(in.param("name"));
    if (found == texts_.end()) throw http::status_error(404);
    texts_.erase(found);
    out.send(204);
  }

 private:
  sley::mutex lock_;
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace

http::router make_site(const std::string& root) {
  http::router site;
  const auto store = std::make_shared<values>();
  site.get("/api/values", [store](http::request&, http::response& out) { store->list(out); });
  site.get("/api/values/{name}",
           [store](http::request& in, http::response& out) { store->get(in, out); });
  site.put("/api/values/{name}",
           [store](http::request& in, http::response& out) { store->put(in, out); });
  site.erase("/api/values/{name}",
             [store](http::request& in, http::response& out) { store->erase(in, out); });
  const http::handler debug_pages = sley::debug::for_this_machine(sley::debug::pages());
  site.get("/debug/{page...}", debug_pages);
  site.post("/debug/{page...}", debug_pages);
  site.get("/hello",
           [](http::request&, http::response& out) { out.send(200, "text/plain", "hello\n"); });
  site.get("/echo", [](http::request& in, http::response& out) {
    auto ws = http::websocket::accept(in, out);
    while (const auto message = ws.read()) ws.write_text(message->data);
  });
  if (root.empty()) {
    site.get("/", [](http::request&, http::response& out) { out.send(200, "text/html", page); });
  } else {
    site.get("/{path...}", http::file_server(root));
  }
  return site;
}

}  // namespace webserver
