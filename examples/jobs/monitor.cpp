#include "monitor.hpp"

#include <sley/debug.hpp>
#include <sley/http/debug.hpp>

#include <cstdio>
#include <mutex>
#include <string_view>
#include <vector>

namespace jobs {

namespace {

namespace http = sley::http;
using sley::debug::metric;

// In the text format of Prometheus.
std::string to_text(const std::vector<metric>& metrics) {
  std::string text;
  for (const metric& m : metrics) {
    const std::string name(m.name);
    const std::string_view kind = m.what == metric::kind::counter ? "counter" : "gauge";
    text.append("# HELP ").append(name).append(" ").append(m.help).append("\n");
    text.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
    text.append(name).append(" ").append(std::to_string(m.value)).append("\n");
  }
  return text;
}

}  // namespace

void monitor::begin_outage(std::string_view why) {
  const std::lock_guard guard(lock_);
  if (++outages_ == 1) {
    std::fprintf(stderr, "jobs: trying again: %.*s\n", static_cast<int>(why.size()), why.data());
  }
  update_health();
}

void monitor::end_outage() {
  const std::lock_guard guard(lock_);
  if (--outages_ == 0) std::fputs("jobs: all servers answer\n", stderr);
  update_health();
}

void monitor::set_taking(bool is_taking) {
  const std::lock_guard guard(lock_);
  is_taking_ = is_taking;
  update_health();
}

http::router monitor::make_pages() const {
  http::router pages;
  health_.add_to(pages);
  pages.get("/debug/{page...}", sley::debug::for_this_machine(sley::debug::pages()));
  pages.get("/metrics", [this](http::request&, http::response& out) {
    constexpr auto counter = metric::kind::counter;
    std::vector<metric> all = {
        {"jobs_recorded_total", "Results that this worker was the first to record.", counter,
         recorded},
        {"jobs_repeated_total", "Jobs that another worker had recorded before.", counter, repeated},
        {"jobs_left_total", "Jobs that were not finished.", counter, left},
        {"jobs_server_failures_total", "Calls of a server that were tried again.", counter,
         failures},
        {"jobs_under_way", "Jobs that are held now.", metric::kind::gauge,
         static_cast<std::uint64_t>(under_way.load())}};
    const std::vector<metric> runtime = sley::debug::metrics();
    all.insert(all.end(), runtime.begin(), runtime.end());
    out.send(200, "text/plain; version=0.0.4; charset=utf-8", to_text(all));
  });
  return pages;
}

std::string monitor::to_string() const {
  return std::to_string(recorded) + " recorded, " + std::to_string(repeated) + " repeated, " +
         std::to_string(left) + " left, " + std::to_string(under_way) + " under way";
}

}  // namespace jobs
