// Waiting for a number of goroutines.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/wait_list.hpp>
#include <sley/go.hpp>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace sley {

// Waits for a number of goroutines to finish. It may be destroyed as soon as all wait() calls have
// returned. From Go's sync.WaitGroup.
class SLEY_API wait_group {
 public:
  constexpr wait_group() noexcept = default;
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;

  // Adds n, which may be negative, to the counter; when it reaches zero, wakes those in wait().
  // Never parks. A counter that would go below zero or over 2^31-1 throws std::logic_error.
  void add(std::int32_t n) {
    // WT-1  What was done before done() is seen after wait(): add_acq_rel in add <-> load_acquire
    //       in wait; through the waiters' lock for those who parked.
    const std::uint64_t after = state_.add_acq_rel(units(n), "WT-1") + units(n);
    if (count(after) < 0 || (count(after) == 0 && after != 0)) add_slow(n, after);
  }
  void done() { add(-1); }

  // Whether wait() would return at once.
  bool is_done() const noexcept { return count(state_.load_acquire("WT-1")) == 0; }

  // Parks until the counter is zero.
  void wait() {
    if (!is_done()) wait_slow();
  }

  // add(1), then f() in a goroutine, then done(), also if the goroutine ends by exit(). What f
  // holds is destroyed before done().
  template <class F>
  void go(F&& f) {
    add(1);
    try {
      sley::go([this, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
        struct finisher {
          wait_group* group;
          ~finisher() { group->done(); }
        } guard{this};
        auto local = std::move(f);
        std::invoke(std::move(local));
      });
    } catch (...) {
      done();
      throw;
    }
  }

 private:
  static constexpr std::uint64_t units(std::int32_t n) {
    return static_cast<std::uint64_t>(std::int64_t{n}) << 32;
  }
  static constexpr std::int32_t count(std::uint64_t state) {
    return static_cast<std::int32_t>(state >> 32);
  }

  void add_slow(std::int32_t n, std::uint64_t after);
  void wait_slow();

  // The counter in the upper half, those parked in wait() in the lower: one word, so that the last
  // done() touches nothing else when nobody waits, and the group may be destroyed at once.
  detail::atomic<std::uint64_t> state_;  // [atomic WT-1]
  detail::wait_list waiters_;
};

}  // namespace sley
