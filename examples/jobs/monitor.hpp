// What a worker tells of itself: figures, and whether it is ready.
#pragma once

#include <sley/http.hpp>
#include <sley/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace jobs {

// Any goroutine may use it.
class monitor {
 public:
  std::atomic<std::uint64_t> recorded = 0;  // results that this worker was the first to record
  std::atomic<std::uint64_t> repeated = 0;  // jobs that another worker had recorded before
  std::atomic<std::uint64_t> left = 0;      // jobs that were not finished: others take them over
  std::atomic<std::uint64_t> failures = 0;  // calls of a server that were tried again
  std::atomic<std::int64_t> under_way = 0;  // jobs that are held now

  // A call of a server has failed and is tried again until end_outage(). The first of several calls
  // at the same time, and the end of the last, are a line on stderr.
  void begin_outage(std::string_view why);
  void end_outage();
  // The worker takes jobs, or takes no more of them.
  void set_taking(bool is_taking);

  // /healthz, /readyz, /metrics, and /debug/ for clients on this machine.
  sley::http::router make_pages() const;
  // "12 recorded, 1 repeated, 0 left, 3 under way"
  std::string to_string() const;

 private:
  void update_health() { health_.set_ready(is_taking_ && outages_ == 0); }

  sley::mutex lock_;
  int outages_ = 0;         // under lock_
  bool is_taking_ = false;  // under lock_
  sley::http::health health_;
};

}  // namespace jobs
