#include <sley/http/health.hpp>

#include <sley/mutex.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http {

struct health::state {
  mutex lock;
  bool is_ready = false;     // [lock: lock]
  bool is_stopping = false;  // [lock: lock] from then on it is never ready

  std::string_view word() {
    const std::lock_guard guard(lock);
    if (is_stopping) return "stopping\n";
    return is_ready ? "ready\n" : "not ready\n";
  }
};

namespace {

// No cache may answer in the place of the process.
void say(response& out, int status, std::string_view word) {
  out.headers().set("Cache-Control", "no-store");
  out.send(status, "text/plain", word);
}

}  // namespace

health::health() : state_(std::make_shared<state>()) {}

void health::set_ready(bool is_ready) const {
  const std::lock_guard guard(state_->lock);
  state_->is_ready = is_ready;
}

bool health::is_ready() const {
  const std::lock_guard guard(state_->lock);
  return state_->is_ready && !state_->is_stopping;
}

handler health::live() const {
  return [](request&, response& out) { say(out, 200, "live\n"); };
}

handler health::ready() const {
  return [of = state_](request&, response& out) {
    const std::string_view word = of->word();
    say(out, word == "ready\n" ? 200 : 503, word);
  };
}

void health::add_to(router& routes) const {
  routes.get("/healthz", live());
  routes.get("/readyz", ready());
}

bool health::stop(server& of, const stop_options& options, const context& ctx) const {
  {
    const std::lock_guard guard(state_->lock);
    state_->is_stopping = true;
  }
  std::error_code ended;
  this_goroutine::sleep_for(options.notice, ctx, ended);
  const auto [limit, cancel] = with_timeout(ctx, options.drain);
  const bool is_drained = of.shutdown(limit) || of.open_connections() == 0;
  cancel();
  if (!is_drained) of.close();
  return is_drained;
}

}  // namespace sley::http
