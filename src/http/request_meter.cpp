
#include "http/request_meter.hpp"

#include <sley/http/debug.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sley::http {

namespace detail {

namespace {

constexpr std::size_t places = 32;
constinit std::array<request_counts, places> all_counts;
constinit sley::detail::atomic<std::uint32_t> next_place;

void count_status(request_counts& counts, int status) noexcept {
  counts.by_class[status / 100 - 1].add_relaxed(1);
}

}  // namespace

request_counts& place_to_count() noexcept { return all_counts[next_place.add_relaxed(1) % places]; }

void count_refusal(request_counts& counts, int status) noexcept { count_status(counts, status); }

measured_request::measured_request(request_counts& counts) noexcept : counts_(counts) {
  counts_.begun.add_relaxed(1);
}

measured_request::~measured_request() {
  if (!has_ended_) counts_.ended.add_relaxed(1);
}

std::chrono::nanoseconds measured_request::end(int status, bool is_handed_over) noexcept {
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began_;
  has_ended_ = true;
  if (!is_handed_over) {
    constexpr auto& bounds = request_counts::bounds_ms;
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    const auto at = std::ranges::lower_bound(bounds, ms) - bounds.begin();
    counts_.by_time[at].add_relaxed(1);
    counts_.total_ns.add_relaxed(static_cast<std::uint64_t>(took.count()));
  }
  count_status(counts_, status);
  counts_.ended.add_relaxed(1);
  return took;
}

}  // namespace detail

namespace {

using debug::metric;
using detail::all_counts;
using detail::request_counts;

std::uint64_t sum(sley::detail::atomic<std::uint64_t> request_counts::* counter) {
  std::uint64_t total = 0;
  for (const request_counts& one : all_counts) total += (one.*counter).load_relaxed();
  return total;
}

// Handlers may answer with 600 and more, but few do.
void append_answered(std::vector<metric>& all) {
  constexpr std::size_t known_classes = 5;
  for (std::size_t i = 0; i < request_counts::classes; ++i) {
    std::uint64_t count = 0;
    for (const request_counts& one : all_counts) count += one.by_class[i].load_relaxed();
    if (i >= known_classes && count == 0) continue;
    all.push_back({"sley_http_requests_total",
                   "Requests that servers have answered.",
                   metric::kind::counter,
                   static_cast<double>(count),
                   {{"code", std::to_string(i + 1) + "xx"}}});
  }
}

// Ends are read first: a request that begins and ends meanwhile is in flight, not one less than
// none.
void append_in_flight(std::vector<metric>& all) {
  const std::uint64_t ended = sum(&request_counts::ended);
  const std::uint64_t begun = sum(&request_counts::begun);
  all.push_back({"sley_http_requests_in_flight", "Requests that servers are answering.",
                 metric::kind::gauge, static_cast<double>(begun - std::min(ended, begun))});
}

void append_times(std::vector<metric>& all) {
  metric m = {"sley_http_request_duration_seconds",
              "How long requests took, from their head to the end of their answer.",
              metric::kind::histogram};
  debug::histogram& times = m.distribution;
  for (const double bound : request_counts::bounds_ms) times.bounds.push_back(bound / 1'000);
  times.counts.resize(times.bounds.size() + 1);
  for (const request_counts& one : all_counts) {
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
      times.counts[i] += one.by_time[i].load_relaxed();
    }
  }
  times.sum = static_cast<double>(sum(&request_counts::total_ns)) / 1e9;
  all.push_back(std::move(m));
}

}  // namespace

std::vector<debug::metric> metrics() {
  std::vector<metric> all;
  append_answered(all);
  append_in_flight(all);
  append_times(all);
  return all;
}

}  // namespace sley::http
