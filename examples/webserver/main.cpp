// A web server: static files, a small JSON API, WebSocket at /echo, the scheduler's figures at
// /debug/. It runs by hand and under systemd (units/). Ctrl-C and SIGTERM let the requests under
// way end; SIGUSR2 has a new process take over.
//
//   webserver [--listen ADDRESS] [--root DIR] [--log] [--demo]     --help lists all
#include "demo.hpp"
#include "options.hpp"
#include "site.hpp"
#include "successor.hpp"

#include <sley/http.hpp>
#include <sley/service.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;
namespace http = sley::http;
namespace service = sley::service;

void log_line(const http::access_record& r) { std::puts(http::to_json(r).c_str()); }

http::server_options make_server_options(const webserver::options& o) {
  http::server_options options{.last_request_timeout = 5s, .trace = true};
  if (o.log) options.access_log = log_line;
  return options;
}

// Waits until the server shall end, by SIGINT, SIGTERM or a new process that serves. Returns how
// long load balancers get to notice, which is no time at all if a new process serves. Nothing: the
// server has ended already.
std::optional<std::chrono::seconds> wait_for_end(const webserver::options& o,
                                                 const sley::net::tcp_listener& listener,
                                                 const sley::chan<int>& signals,
                                                 const sley::chan<void>& ended) {
  for (;;) {  // ends as the comment says
    int signal = 0;
    sley::select(sley::on_receive(signals, [&](std::optional<int> s) { signal = s.value_or(0); }),
                 sley::on_receive(ended));
    if (signal == 0) return std::nullopt;
    if (signal == SIGUSR2) {
      if (webserver::start_successor(o.command_line, listener)) return 0s;
      continue;
    }
    std::error_code ignored;
    service::notify(service::stopping, ignored);
    return o.notice;
  }
}

void stop(const http::health& health, http::server& server, std::chrono::seconds notice) {
  std::printf("draining; connections have 10 s\n");
  std::fflush(stdout);
  health.stop(server, {.notice = notice, .drain = 10s});
}

void serve(const webserver::options& o, webserver::inheritance& before) {
  const sley::chan<int> signals(1);
  sley::os::notify(signals, SIGINT, SIGTERM, SIGUSR2);
  sley::net::tcp_listener listener = before.listen(o.address);
  const std::string address = listener.local().to_string();
  const http::health health;
  http::router site = webserver::make_site(o.root);
  health.add_to(site);
  http::server server(site, make_server_options(o));

  const sley::chan<void> ended;
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group others;
  others.go([ctx] { service::feed_watchdog(ctx); });
  others.go([&] {
    const auto notice = wait_for_end(o, listener, signals, ended);
    if (notice) stop(health, server, *notice);
  });
  if (o.demo) {
    others.go([&] {
      webserver::run_demo(address, o.seconds);
      server.shutdown();
    });
  }
  std::printf("serving http://%s/ on %d processors, process %d\n", address.c_str(),
              sley::runtime::max_procs(), static_cast<int>(::getpid()));
  std::fflush(stdout);
  health.set_ready(true);
  service::notify(service::ready);
  before.tell_it_serves();
  server.serve(listener);
  server.shutdown();
  ended.close();
  cancel();
  others.wait();
  sley::os::stop_notify(signals);
}

}  // namespace

int main(int argc, char** argv) {
  const webserver::options o = webserver::parse_options(argc, argv);
  try {
    webserver::inheritance before;
    return sley::run([&] { serve(o, before); });
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "webserver: %s\n", e.what());
    return 1;
  }
}
