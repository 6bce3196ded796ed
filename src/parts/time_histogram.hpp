// How many times fell into which ranges, from 100 ns to 10 s. One thread at a time adds; any thread
// reads, and what it reads may lack the last ones.
#pragma once

#include <sley/detail/atomic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sley::parts {

class time_histogram {
 public:
  // 1, 2.5 and 5 of each power of ten: the last time of each range. The last range has no end.
  static constexpr std::array<std::int64_t, 25> bounds_ns = [] {
    std::array<std::int64_t, 25> bounds{};
    std::int64_t power = 100;
    for (std::size_t i = 0; i < bounds.size(); i += 3, power *= 10) {
      bounds[i] = power;
      if (i + 1 == bounds.size()) break;
      bounds[i + 1] = power / 2 * 5;
      bounds[i + 2] = power * 5;
    }
    return bounds;
  }();
  static constexpr std::size_t ranges = bounds_ns.size() + 1;

  void add(std::int64_t ns) noexcept {
    const auto at = std::ranges::lower_bound(bounds_ns, ns) - bounds_ns.begin();
    raise(counts_[static_cast<std::size_t>(at)], 1);
    raise(sum_ns_, static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
  }

  std::uint64_t count(std::size_t range) const noexcept { return counts_[range].load_relaxed(); }
  std::uint64_t sum_ns() const noexcept { return sum_ns_.load_relaxed(); }

 private:
  // No read-modify-write is needed, because there is one writer at a time.
  static void raise(detail::atomic<std::uint64_t>& figure, std::uint64_t by) noexcept {
    figure.store_relaxed(figure.load_relaxed() + by);
  }

  detail::atomic<std::uint64_t> counts_[ranges];
  detail::atomic<std::uint64_t> sum_ns_;
};

}  // namespace sley::parts
