// Waiting for a number of goroutines.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/refused.hpp>
#include <sley/detail/spawn.hpp>
#include <sley/detail/wait_list.hpp>
#include <sley/go.hpp>

#include <cstdint>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {
template <class F>
struct counted_call;
}

// Waits for a number of goroutines to finish. It may be destroyed as soon as all wait() calls have
// returned. From Go's sync.WaitGroup.
class SLEY_API wait_group {
 public:
  constexpr wait_group() noexcept = default;
  wait_group(const wait_group&, detail::goroutines_share_one_wait_group_by_reference = {}) = delete;
  wait_group& operator=(const wait_group&) = delete;

  // Adds n, which may be negative, to the counter; when it reaches zero, wakes all callers in
  // wait(). Never parks. A counter that would go below zero or over 2^31-1 throws std::logic_error.
  void add(std::int32_t n) { add(n, "sley::wait_group: negative counter"); }
  void done() { add(-1); }  // one has ended

  // Whether wait() would return at once.
  bool is_done() const noexcept { return count(state_.load_acquire("WT-1")) == 0; }

  // Parks until the counter is zero.
  void wait() {
    if (!is_done()) wait_slow();
  }

  // The same, given up when the context ends, with its error; the goroutines go on, and the group
  // must not be destroyed before they are done. The first form throws std::system_error, both
  // std::bad_alloc.
  void wait(const context& ctx);
  void wait(const context& ctx, std::error_code& error);

  // add(1), then f() in a goroutine, then done(), also if the goroutine ends by exit(). What f
  // holds is destroyed before done(); if the counter is zero already then, that is a fatal error.
  // Throws what sley::go() throws, and nothing happened then.
  template <class F>
  void go(F&& f) {
    detail::check_startable<F>();
    if constexpr (detail::is_startable<F>) {
      detail::check_not_null<std::decay_t<F>>(f);
      add(1);
      try {
        detail::spawn_made(nullptr, [&] {
          return detail::counted_call<std::decay_t<F>>{this, std::forward<F>(f)};
        });
      } catch (...) {
        done();
        throw;
      }
    }
  }

 private:
  template <class F>
  friend struct detail::counted_call;
  friend class latch;

  constexpr explicit wait_group(std::int32_t n) noexcept : state_(units(n)) {}

  // `negative` is what the exception says.
  void add(std::int32_t n, const char* negative) {
    // WT-1  After wait() the caller sees all writes before done(): cas_acq_rel in add <->
    //       load_acquire in is_done; through the waiters' lock if the caller parked.
    if (n == 1) return add_one();
    std::uint64_t seen = state_.load_relaxed();
    do {
      if (__builtin_expect(is_slow(seen, n), 0)) return add_slow(n, negative);
    } while (!state_.cas_acq_rel(seen, seen + units(n), "WT-1"));
  }

  // done() where nothing may be thrown: one too many is a fatal error.
  void done_at_end() noexcept;

  static constexpr std::uint64_t units(std::int32_t n) {
    return static_cast<std::uint64_t>(std::int64_t{n}) << 32;
  }
  static constexpr std::int32_t count(std::uint64_t state) {
    return static_cast<std::int32_t>(state >> 32);
  }

  static constexpr std::uint32_t waiters(std::uint64_t state) {
    return static_cast<std::uint32_t>(state);
  }
  // True if the counter reaches zero while a caller waits, or a value that it must not reach.
  static constexpr bool is_slow(std::uint64_t state, std::int32_t n) {
    const std::int64_t sum = std::int64_t{count(state)} + n;
    return sum < 0 || sum > INT32_MAX || (sum == 0 && waiters(state) != 0);
  }

  // The counter is not zero while a caller waits, so one more wakes no caller, and needs no look
  // before.
  void add_one() {
    const std::uint64_t before = state_.add_acq_rel(units(1), "WT-1");
    if (__builtin_expect(count(before) == INT32_MAX, 0)) take_back_one();
  }
  void take_back_one();
  void add_slow(std::int32_t n, const char* negative);
  void wait_slow();
  bool wait_within(detail::wait_limit limit);
  bool count_in() noexcept;
  bool give_up(std::uint32_t round) noexcept;

  // The counter in the upper half, the number of callers parked in wait() in the lower: one word,
  // so that the last done() touches nothing else when no caller waits, and the group may be
  // destroyed at once. No caller waits while the counter is zero: both become zero in one step, and
  // a later add() begins anew.
  detail::atomic<std::uint64_t> state_;  // [atomic WT-1]
  detail::wait_list waiters_;
  std::uint32_t round_ = 0;  // [lock: that of waiters_] how often waiters have been woken
};

namespace detail {

template <class F>
struct counted_call {
  using self_destroying_task = void;

  wait_group* group;
  F f;

  void call_and_destroy() {
    struct finisher {
      wait_group* group;
      ~finisher() { group->done_at_end(); }
    } guard{group};
    run_task<F>(&f);
  }
};

}  // namespace detail

}  // namespace sley
