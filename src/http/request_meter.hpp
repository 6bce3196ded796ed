// Counts what the servers of the process have answered, and how long it took.
//
// Each session counts in one of several places, so that two processors seldom write to one line.
#pragma once

#include <sley/detail/atomic.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sley::http::detail {

// Most CPUs' line; what the platform says of the CPU can't be seen from here.
struct alignas(64) request_counts {
  // In milliseconds. The last range has no end.
  static constexpr std::array<double, 16> bounds_ms = {
      0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1'000, 2'500, 5'000, 10'000};
  static constexpr std::size_t classes = 9;  // 1xx to 9xx

  // All relaxed: figures.
  sley::detail::atomic<std::uint64_t> begun;
  sley::detail::atomic<std::uint64_t> ended;
  sley::detail::atomic<std::uint64_t> by_class[classes];
  sley::detail::atomic<std::uint64_t> by_time[bounds_ms.size() + 1];
  sley::detail::atomic<std::uint64_t> total_ns;
};

// Where a session counts. Any thread.
request_counts& place_to_count() noexcept;
// A request that was refused: it could not be understood.
void count_refusal(request_counts& counts, int status) noexcept;

// While it lives, a request is being answered.
class measured_request {
 public:
  explicit measured_request(request_counts& counts) noexcept;
  ~measured_request();  // without an end, it was left by an exception or exit()
  measured_request(const measured_request&) = delete;
  measured_request& operator=(const measured_request&) = delete;

  std::chrono::steady_clock::time_point began() const noexcept { return began_; }
  // It has been answered. Returns how long it took. The time of a connection that was handed over
  // (WebSocket) is not one of an answer, and is not counted.
  std::chrono::nanoseconds end(int status, bool is_handed_over) noexcept;

 private:
  request_counts& counts_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool has_ended_ = false;
};

}  // namespace sley::http::detail
