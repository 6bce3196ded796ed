// Whether a process should get requests, for load balancers and orchestrators that ask.
//
//   sley::http::health health;
//   health.add_to(routes);            // /healthz and /readyz
//   sley::http::server server(routes);
//   ...
//   health.set_ready(true);
//   server.serve(listener);           // meanwhile, at a signal: health.stop(server);
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/router.hpp>
#include <sley/http/server.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <memory>

namespace sley::http {

// How health::stop() ends a server.
struct stop_options {
  // How long the server takes connections after readiness has turned. As long as the load balancer
  // needs to notice: the interval of its questions times the failures that it waits for.
  time_span notice = std::chrono::seconds(5);
  // How long the requests under way have after that, before they are cut. The largest duration of
  // any unit: as long as they take.
  time_span drain = std::chrono::seconds(30);
};

// A handle: copies name the same state. Any goroutine and thread may use it.
class SLEY_API health {
 public:
  health();  // not ready yet

  // Readiness may turn as often as the program likes. Once stop() has begun, this changes nothing.
  void set_ready(bool is_ready) const;
  bool is_ready() const;

  // Each answers 200, or 503 if the process should get no requests, with a word as the body. live()
  // always answers 200, because a process that answers lives.
  handler live() const;
  handler ready() const;
  // Registers the two at /healthz and /readyz for GET.
  void add_to(router& routes) const;

  // Ends a server so that no client of a load balancer notices:
  //   1. Readiness turns: ready() answers 503. The server goes on as before for `notice`, so that
  //      the load balancer stops choosing it.
  //   2. server::shutdown(), for `drain` at most. Then server::close() cuts what is open.
  // The end of the context ends both waits: what is open then is cut. Returns whether nothing was
  // cut. Parks. Several servers may be stopped at once by goroutines. Throws std::bad_alloc.
  bool stop(server& of, const stop_options& options = {},
            const context& ctx = context::background()) const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace sley::http
