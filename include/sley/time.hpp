// Timers on std::chrono::steady_clock, with the meaning they have in Go since 1.23.
#pragma once

#include <sley/chan.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/refused.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace sley {

// The clock of all timers and deadlines.
using time_point = std::chrono::steady_clock::time_point;

namespace detail {

struct function_timer;

// What a function timer calls, any number of times. It travels inside the timer's own record.
struct timer_call {
  std::size_t size;
  void (*make)(void* to, void* from);  // from what after_func() was given
  void (*call)(void* self);
  void (*destroy)(void* self) noexcept;
};

template <class F, class Given>
inline constexpr timer_call timer_call_of{
    sizeof(F),
    [](void* to, void* from) {
      using given = std::remove_reference_t<Given>;
      ::new (to) F(std::forward<Given>(*static_cast<given*>(from)));
    },
    [](void* self) { static_cast<void>((*static_cast<F*>(self))()); },
    [](void* self) noexcept { static_cast<F*>(self)->~F(); }};

// Whether F can be copied, and the copy called without arguments, any number of times.
template <class F>
inline constexpr bool is_timed_function =
    std::is_constructible_v<std::decay_t<F>, F> && std::is_invocable_v<std::decay_t<F>&>;

// Says why not, in one sentence.
template <class F>
SLEY_ALWAYS_INLINE constexpr void check_timed_function() noexcept {
  constexpr bool is_called = std::is_invocable_v<std::decay_t<F>&>;
  static_assert(
      is_called,
      "sley::after_func: the function has no arguments: write after_func(d, [=] { f(x); })");
  static_assert(!is_called || is_timed_function<F>,
                "sley::after_func: the function cannot be copied: pass std::move(f)");
}

// What timer and ticker hold: a channel that a timer feeds, or a function that a timer starts.
class SLEY_API timer_ref {
 public:
  // A timer with a channel, armed for `delay_ns` from now and then every `period_ns` (0: once).
  timer_ref(std::int64_t delay_ns, std::int64_t period_ns);
  // A timer that calls a copy of the callable in a goroutine of its own.
  timer_ref(std::int64_t delay_ns, const timer_call& type, void* callable);
  timer_ref(timer_ref&& other) noexcept
      : channel_(std::move(other.channel_)), function_(std::exchange(other.function_, nullptr)) {}
  timer_ref& operator=(timer_ref&& other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(function_, other.function_);
    return *this;
  }
  ~timer_ref();

  recv_chan<time_point> channel() const { return recv_chan<time_point>(channel_); }
  bool stop() const;
  bool reset(std::int64_t delay_ns, std::int64_t period_ns) const;

  // A channel that is fed once and that no timer_ref names.
  static recv_chan<time_point> once(std::int64_t delay_ns);

 private:
  void check_not_moved_from() const;

  chan_ref channel_;                    // null for a function timer
  function_timer* function_ = nullptr;  // null for a channel timer
};

}  // namespace detail

// A single event in the future. Handles are moved, not copied; destroying one stops a channel
// timer; a function timer fires all the same, as in Go. Any thread; no operation parks. Stopping or
// resetting one that was moved from throws std::logic_error. From Go's time.Timer.
class timer {
 public:
  // Sends the time of expiry on channel() once, d from now (at once if d <= 0).
  explicit timer(time_span d) : ref_(d.count(), 0) {}

  // The channel looks unbuffered (size and capacity 0) and never holds a value from before a stop
  // or reset. The nil channel for a function timer. It stays valid after the timer is gone, but
  // nothing can be received any more.
  recv_chan<time_point> channel() const { return ref_.channel(); }

  // Returns whether it kept the timer from firing (channel timers: whether the value had not been
  // received yet). After it returns nothing stale can be received.
  bool stop() { return ref_.stop(); }

  // Arms it for d from now, whatever its state. Returns whether it was still pending, as stop().
  bool reset(time_span d) { return ref_.reset(d.count(), 0); }

  timer(timer&&) noexcept = default;
  timer& operator=(timer&&) noexcept = default;
  timer(const timer&, detail::a_timer_has_one_owner_use_std_move = {}) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() = default;

 private:
  template <class F>
  friend timer after_func(time_span d, F&& f);
  explicit timer(detail::timer_ref ref) : ref_(std::move(ref)) {}

  detail::timer_ref ref_;
};

// Calls f in a goroutine of its own, d from now. stop() on the timer that is returned says whether
// it kept f from being started; dropping the timer does not. From Go's time.AfterFunc.
template <class F>
timer after_func(time_span d, F&& f) {
  using callable = std::decay_t<F>;
  detail::check_timed_function<F>();
  if constexpr (!detail::is_timed_function<F>) {
    return timer(d);
  } else if constexpr (alignof(callable) > alignof(std::max_align_t)) {
    return after_func(d, [f = std::make_unique<callable>(std::forward<F>(f))] { (*f)(); });
  } else if constexpr (!std::is_object_v<std::remove_reference_t<F>>) {
    return after_func(d, callable(f));  // a function has no address that can be kept as void*
  } else {
    auto* given = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
    return timer(detail::timer_ref(d.count(), detail::timer_call_of<callable, F>, given));
  }
}

// Refused: the arguments are the other way round.
template <class F, class Rep, class Period>
timer after_func(F&&, const std::chrono::duration<Rep, Period>& d) {
  static_assert(!std::is_same_v<F, F>, "sley::after_func: the time comes first: after_func(d, f)");
  return timer(d);
}

// A channel that gets the time of expiry, d from now. From Go's time.After.
inline recv_chan<time_point> after(time_span d) { return detail::timer_ref::once(d.count()); }

// Sends the time on channel() every d; ticks that a slow reader misses are dropped. Throws
// std::invalid_argument if d <= 0. All else is as for timer. From Go's time.Ticker.
class ticker {
 public:
  // The first tick comes d from now.
  explicit ticker(time_span d) : ref_(positive(d), d.count()) {}

  // Where the ticks come; it looks unbuffered, as a timer's.
  recv_chan<time_point> channel() const { return ref_.channel(); }
  // No tick can be received after it returns. Does not close the channel.
  void stop() { ref_.stop(); }
  // The next tick comes d from now, then every d. Throws std::invalid_argument if d <= 0.
  void reset(time_span d) { ref_.reset(positive(d), d.count()); }

  ticker(ticker&&) noexcept = default;
  ticker& operator=(ticker&&) noexcept = default;
  ticker(const ticker&, detail::a_timer_has_one_owner_use_std_move = {}) = delete;
  ticker& operator=(const ticker&) = delete;
  ~ticker() = default;

 private:
  SLEY_API static std::int64_t positive(time_span d);

  detail::timer_ref ref_;
};

}  // namespace sley
