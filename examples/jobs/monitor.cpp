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
  pages.handle("", "/debug/{page...}", sley::debug::for_this_machine(sley::debug::pages()));
  pages.get("/metrics", [this](http::request&, http::response& out) {
    using enum metric::kind;
    const auto figure = [](const char* name, const char* help, metric::kind what, auto value) {
      return metric{name, help, what, static_cast<double>(value)};
    };
    std::vector<metric> all = sley::debug::metrics();
    all.insert(all.end(),
               {figure("jobs_recorded_total", "Results that this worker was the first to record.",
                       counter, recorded.load()),
                figure("jobs_repeated_total", "Jobs that another worker had recorded before.",
                       counter, repeated.load()),
                figure("jobs_left_total", "Jobs that were not finished.", counter, left.load()),
                figure("jobs_server_failures_total", "Calls of a server that were tried again.",
                       counter, failures.load()),
                figure("jobs_under_way", "Jobs that are held now.", gauge, under_way.load())});
    out.send(200, sley::debug::metrics_content_type, sley::debug::metrics_text(all));
  });
  return pages;
}

std::string monitor::to_string() const {
  return std::to_string(recorded) + " recorded, " + std::to_string(repeated) + " repeated, " +
         std::to_string(left) + " left, " + std::to_string(under_way) + " under way";
}

}  // namespace jobs
