#include "commands.hpp"
#include "worker.hpp"

#include <sley/net.hpp>
#include <sley/service.hpp>
#include <sley/signal.hpp>
#include <sley/sley.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace jobs {

namespace {

using namespace std::chrono_literals;
namespace service = sley::service;

void say(const options& o, const std::string& text) {
  std::printf("%s: %s\n", o.name.c_str(), text.c_str());
  std::fflush(stdout);
}

// Tells of the worker while it lives: its pages, its service manager's watchdog, a line now and
// then.
class herald {
 public:
  herald(const options& o, const monitor& m)
      : listener_(sley::net::tcp_listener::listen(o.watch)), pages_(m.make_pages()) {
    say(o, "watched at http://" + listener_.local().to_string() + "/");
    all_.go([this] { pages_.serve(listener_); });
    all_.go([this] { service::feed_watchdog(life_.first); });
    all_.go([this, &o, &m] { report_progress(o, m, life_.first); });
  }
  ~herald() {
    life_.second();
    pages_.shutdown(std::chrono::steady_clock::now() + 1s);
    pages_.close();
    all_.wait();
  }
  herald(const herald&) = delete;
  herald& operator=(const herald&) = delete;

 private:
  static void report_progress(const options& o, const monitor& m, const sley::context& ctx) {
    std::error_code ended;
    for (;;) {
      sley::this_goroutine::sleep_for(10s, ctx, ended);
      if (ended) return;
      say(o, m.to_string());
    }
  }

  sley::net::tcp_listener listener_;
  sley::http::server pages_;
  std::pair<sley::context, sley::cancel_function> life_ = sley::with_cancel({});
  sley::wait_group all_;
};

// Takes jobs until a signal comes, or a goroutine fails; then the jobs under way are finished, or
// left to other workers if that takes too long.
void take_jobs(const options& o, worker& w) {
  const auto [signalled, forget_signals] = sley::os::notify_context({}, SIGINT, SIGTERM);
  const auto [working, stop_working] = sley::with_cancel({});
  w.make_tables(signalled);
  sley::error_group slots(signalled);
  for (std::size_t i = 0; i < o.parallel; ++i) {
    slots.go([&] { w.do_jobs(slots.context(), working); });
  }
  w.monitor.set_taking(true);
  std::error_code no_manager;
  service::notify(service::ready, no_manager);

  slots.context().done().receive();
  w.monitor.set_taking(false);
  service::notify(service::stopping, no_manager);
  const auto limit = sley::after_func(o.drain, [stop_working] { stop_working(); });
  slots.wait();
  forget_signals();
}

}  // namespace

int work(const options& o) {
  worker w(o);
  const herald h(o, w.monitor);
  take_jobs(o, w);
  say(o, w.monitor.to_string());
  return 0;
}

}  // namespace jobs
