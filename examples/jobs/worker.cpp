#include "worker.hpp"

#include "keep_trying.hpp"

#include <sley/retry.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

namespace jobs {

namespace http = sley::http;

worker::worker(const options& o)
    : options_(o),
      queue_(make_queue(o)),
      results_(o),
      client_({.connections_per_host = o.parallel, .user_agent = "jobs/" + o.name}) {}

void worker::make_tables(const sley::context& ctx) {
  keep_trying(monitor, ctx, [&](const sley::context& in_time) { results_.make_tables(in_time); });
}

void worker::do_jobs(const sley::context& taking, const sley::context& working) {
  while (!taking.error()) {
    std::optional<job> j;
    try {
      j = keep_trying(monitor, taking,
                      [&](const sley::context& in_time) { return queue_->take(in_time); });
    } catch (const std::system_error&) {
      if (!taking.error()) throw;
    }
    if (j) do_job(*j, working);
  }
}

// The order makes "at least once" of the queue "exactly once" of the results: the job is finished
// only after its result is committed, and a result that is there already is left as it is. A worker
// may die between any two lines of this, and the job is handed out again.
void worker::do_job(const job& j, const sley::context& working) {
  ++monitor.under_way;
  try {
    if (const std::optional<page> p = fetch(j, working)) {
      const bool is_new = keep_trying(monitor, working, [&](const sley::context& in_time) {
        return results_.record(j, *p, in_time);
      });
      ++(is_new ? monitor.recorded : monitor.repeated);
      keep_trying(monitor, working,
                  [&](const sley::context& in_time) { queue_->finish(j, in_time); });
    } else {
      ++monitor.left;
    }
  } catch (const std::system_error&) {
    if (!working.error()) throw;
    ++monitor.left;
  }
  --monitor.under_way;
}

// Without a page nothing is returned, so that another worker tries later. After the last delivery
// the reason is the result.
std::optional<page> worker::fetch(const job& j, const sley::context& ctx) {
  try {
    return sley::retry({.max_tries = 3}, ctx, [&] { return try_to_fetch(j, ctx); });
  } catch (const std::exception& e) {
    if (ctx.error() || j.deliveries < options_.deliveries) return std::nullopt;
    return page{.error = e.what()};
  }
}

page worker::try_to_fetch(const job& j, const sley::context& ctx) {
  const auto [in_time, cancel] = sley::with_timeout(ctx, options_.fetch);
  http::client_response answer = client_.get(j.url, in_time);
  const std::string body = answer.read_all();
  if (answer.status() >= 500) {
    throw std::runtime_error("the server answered " + std::to_string(answer.status()));
  }
  return {.status = answer.status(), .bytes = static_cast<long>(body.size())};
}

}  // namespace jobs
