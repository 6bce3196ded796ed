// Chat page: a server of one web page whose visitors talk to each other by WebSocket.
//
//   chat_page [ADDRESS]          "127.0.0.1:8080" unless given; open it in two windows
//
// A visitor's handler reads from the WebSocket, and a second goroutine writes to it what lies in
// the visitor's outbox. The room is a list under a lock: `sley::mutex` parks a goroutine where
// std::mutex would block a thread. A signal shuts the server down, which closes the WebSockets, and
// handlers end as they do when a visitor leaves.
#include <sley/http.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace http = sley::http;
using outbox = sley::chan<std::string>;

constexpr std::string_view page = R"(<!doctype html>
<title>chat</title>
<form><input autofocus placeholder="say something"></form>
<pre></pre>
<script>
const socket = new WebSocket(`ws://${location.host}/chat`);
const [form, input, lines] = ["form", "input", "pre"].map(name => document.querySelector(name));
socket.onmessage = event => lines.append(event.data + "\n");
socket.onclose = () => lines.append("the server has gone\n");
form.onsubmit = event => { event.preventDefault(); socket.send(input.value); form.reset(); };
</script>
)";

class room {
 public:
  void enter(const outbox& box) {
    const std::lock_guard guard(lock_);
    boxes_.push_back(box);
  }
  // Closing an outbox ends its writer.
  void leave(const outbox& box) {
    const std::lock_guard guard(lock_);
    std::erase(boxes_, box);
    box.close();
  }
  // A visitor that is too slow misses messages. Nothing waits for it.
  void say(const std::string& text) {
    const std::lock_guard guard(lock_);
    for (const outbox& box : boxes_) box.try_send(std::string(text));
  }

 private:
  sley::mutex lock_;
  std::vector<outbox> boxes_;
};

void chat(http::websocket socket, room& everyone) {
  const outbox box(64);
  everyone.enter(box);
  sley::wait_group writer;
  writer.go([&] {
    std::error_code error;  // the visitor has gone: the reader hears of it as well
    for (const std::string& text : box) socket.write_text(text, error);
  });
  std::error_code error;
  while (const auto message = socket.read(error)) everyone.say(message->data);
  everyone.leave(box);
  writer.wait();
}

int main(int argc, char** argv) {
  return sley::run([&] {
    const auto [ctx, cancel] = sley::os::notify_context({}, SIGINT, SIGTERM);
    auto listener = sley::net::tcp_listener::listen(argc > 1 ? argv[1] : "127.0.0.1:8080");
    std::printf("open http://%s/\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    room everyone;
    http::router routes;
    routes.get("/", [](auto&, auto& out) { out.send(200, "text/html", page); });
    routes.get("/chat",
               [&](auto& in, auto& out) { chat(http::websocket::accept(in, out), everyone); });
    http::server server(routes);
    sley::wait_group stopping;
    stopping.go([&] {
      ctx.done().receive();
      server.shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(5));
    });
    server.serve(listener);
    stopping.wait();
    cancel();
  });
}
