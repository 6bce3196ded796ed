// A web server: static files, a small JSON API, WebSocket at /echo, the scheduler's figures at
// /debug/. Ctrl-C lets the requests under way end.
//
//   webserver [--port N] [--root DIR] [--log] [--demo]
#include "demo.hpp"
#include "options.hpp"
#include "site.hpp"

#include <sley/http.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace {

using namespace std::chrono_literals;

void log_line(const sley::http::access_record& r) { std::puts(sley::http::to_line(r).c_str()); }

void drain(sley::http::server& server) {
  std::puts("draining; connections have 10 s");
  if (!server.shutdown(std::chrono::steady_clock::now() + 10s)) server.close();
}

void serve(const webserver::options& o) {
  const sley::chan<int> signals(1);
  sley::os::notify(signals, SIGINT, SIGTERM);
  auto listener = sley::net::tcp_listener::listen(o.address);
  const std::string address = listener.local().to_string();
  std::printf("serving http://%s/ on %d processors\n", address.c_str(), sley::runtime::max_procs());
  std::fflush(stdout);
  sley::http::server_options options;
  if (o.log) options.access_log = log_line;
  sley::http::server server(webserver::make_site(o.root), options);

  const sley::chan<void> ended;
  sley::wait_group others;
  others.go([&] {
    sley::select(sley::on_receive(signals, [&](auto) { drain(server); }), sley::on_receive(ended));
  });
  if (o.demo) {
    others.go([&] {
      webserver::run_demo(address, o.seconds);
      server.shutdown();
    });
  }
  server.serve(listener);
  server.shutdown();
  ended.close();
  others.wait();
  sley::os::stop_notify(signals);
}

}  // namespace

int main(int argc, char** argv) {
  const webserver::options o = webserver::parse_options(argc, argv);
  try {
    return sley::run([&] { serve(o); });
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "webserver: %s\n", e.what());
    return 1;
  }
}
