// A web server: static files, a small JSON API, WebSocket at /echo, the scheduler's figures at
// /debug. Ctrl-C lets the requests under way end.
//
//   webserver [--port N] [--root DIR] [--log] [--demo]
#include "demo.hpp"
#include "options.hpp"
#include "site.hpp"

#include <sley/http.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>

#include <sys/signalfd.h>

namespace {

using namespace std::chrono_literals;

void log_line(const sley::http::access_record& r) {
  std::printf("%s \"%.*s %.*s\" %d %llu %.3f ms\n", r.remote.to_string().c_str(),
              static_cast<int>(r.method.size()), r.method.data(), static_cast<int>(r.target.size()),
              r.target.data(), r.status, static_cast<unsigned long long>(r.body_bytes),
              std::chrono::duration<double, std::milli>(r.duration).count());
}

// SIGINT and SIGTERM as something to read: no thread takes them any more, for those that come later
// inherit the mask.
int signals_to_read() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void drain_on_signal(const sley::os::file& signals, sley::http::server& server) {
  signalfd_siginfo info;
  std::error_code error;
  signals.read_some(std::as_writable_bytes(std::span(&info, 1)), error);
  if (error) return;  // the server has ended otherwise
  std::puts("draining; connections have 10 s");
  if (!server.shutdown(std::chrono::steady_clock::now() + 10s)) server.close();
}

void serve(const webserver::options& o, int signal_fd) {
  auto listener = sley::net::tcp_listener::listen(o.address);
  const std::string address = listener.local().to_string();
  std::printf("serving http://%s/ on %d processors\n", address.c_str(), sley::runtime::max_procs());
  std::fflush(stdout);
  sley::http::server_options options;
  if (o.log) options.access_log = log_line;
  sley::http::server server(webserver::make_site(o.root), options);

  sley::os::file signals(signal_fd);
  sley::wait_group others;
  others.go([&] { drain_on_signal(signals, server); });
  if (o.demo) {
    others.go([&] {
      webserver::run_demo(address, o.seconds);
      server.shutdown();
    });
  }
  server.serve(listener);
  server.shutdown();
  signals.close();
  others.wait();
}

}  // namespace

int main(int argc, char** argv) {
  const webserver::options o = webserver::parse_options(argc, argv);
  const int signal_fd = signals_to_read();
  try {
    return sley::run([&] { serve(o, signal_fd); });
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "webserver: %s\n", e.what());
    return 1;
  }
}
