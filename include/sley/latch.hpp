// Latch and barrier, as in <latch> and <barrier>.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/wait_list.hpp>
#include <sley/wait_group.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {

// As std::latch: a count that goes down to zero once. wait() parks a goroutine and blocks a foreign
// thread. It may be destroyed as soon as all wait() calls have returned.
class SLEY_API latch {
 public:
  // std::logic_error unless 0 <= expected <= max().
  constexpr explicit latch(std::ptrdiff_t expected) : count_(checked(expected)) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::int32_t>::max();
  }

  // Never parks. std::logic_error, and nothing happened, if n is negative or more than is left.
  void count_down(std::ptrdiff_t n = 1) {
    count_.add(-checked(n), "sley::latch: counted down below zero");
  }
  // Whether the count is zero; never fails spuriously.
  bool try_wait() const noexcept { return count_.is_done(); }
  // Parks until the count is zero.
  void wait() const { count_.wait(); }
  // As wait_group's: given up when the context ends, with its error.
  void wait(const context& ctx) const { count_.wait(ctx); }
  void wait(const context& ctx, std::error_code& error) const { count_.wait(ctx, error); }
  // For one that a context ends: count_down(n), then wait(ctx).
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  static constexpr std::int32_t checked(std::ptrdiff_t n) {
    if (n < 0 || n > max()) throw_bad_count();
    return static_cast<std::int32_t>(n);
  }
  [[noreturn]] static void throw_bad_count();

  mutable wait_group count_;
};

namespace detail {

struct no_completion {
  void operator()() noexcept {}
};

// All of its state is guarded by the lock of the waiters.
class SLEY_API barrier_core {
 public:
  constexpr explicit barrier_core(std::ptrdiff_t expected) : expected_(expected), left_(expected) {
    if (expected < 0) throw_bad_count();
  }

  // True: these were the last of the phase, and complete() must follow. `phase` is set to the one
  // that they arrived in.
  [[nodiscard]] bool arrive(std::ptrdiff_t n, bool drops, std::uint64_t& phase);
  void complete() noexcept;
  // Parks until the phase is over.
  void wait(std::uint64_t phase);
  void wait(std::uint64_t phase, const context& ctx, std::error_code& error);
  void wait(std::uint64_t phase, const context& ctx);

 private:
  [[noreturn]] static void throw_bad_count();
  bool wait_within(std::uint64_t phase, wait_limit limit);

  wait_list waiters_;
  std::ptrdiff_t expected_;  // [lock: of waiters_] in the next phase
  std::ptrdiff_t left_;      // [lock: of waiters_] in this one
  std::uint64_t phase_ = 0;  // [lock: of waiters_]
};

}  // namespace detail

// As std::barrier: a number of participants wait for each other, phase after phase. The participant
// that arrives last calls the completion function, and only then do the others go on. Waiting parks
// a goroutine and blocks a foreign thread; the completion function may park as well. The barrier
// may be destroyed when no call is under way.
template <class Completion = detail::no_completion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<Completion&>,
                "sley::barrier: the completion function must be noexcept");

 public:
  // The phase that an arrive() was in.
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  // std::logic_error if expected is negative.
  constexpr explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
      : core_(expected), completion_(std::move(completion)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  // n participants arrive and go on. std::logic_error, and nothing happened, if n is not positive
  // or more than are still expected in this phase.
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
    return arrival_token(enter(n, false));
  }
  // Parks until that phase is over. The token must be of this phase or the one before.
  void wait(arrival_token&& arrival) const { core_.wait(arrival.phase_); }
  // The same, given up when the context ends, with its error. The arrival counts all the same, and
  // the token is as good as before: for another wait, or for none. They throw std::bad_alloc.
  void wait(const arrival_token& arrival, const context& ctx) const {
    core_.wait(arrival.phase_, ctx);
  }
  void wait(const arrival_token& arrival, const context& ctx, std::error_code& error) const {
    core_.wait(arrival.phase_, ctx, error);
  }
  // For one that a context ends: wait(arrive(), ctx).
  void arrive_and_wait() { wait(arrive()); }
  // Arrives, and is not expected in the phases to come.
  void arrive_and_drop() { enter(1, true); }

 private:
  std::uint64_t enter(std::ptrdiff_t n, bool drops) {
    std::uint64_t phase = 0;
    if (core_.arrive(n, drops, phase)) {
      completion_();
      core_.complete();
    }
    return phase;
  }

  mutable detail::barrier_core core_;
  [[no_unique_address]] Completion completion_;
};

}  // namespace sley
