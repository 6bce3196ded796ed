// async and future: a goroutine with a result. A result that is brought in another way is in
// <sley/promise.hpp>.
#pragma once

#include <sley/detail/deadline.hpp>
#include <sley/detail/future_state.hpp>
#include <sley/detail/refused.hpp>
#include <sley/go.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {

using std::future_status;

namespace detail {

struct future_access;

// The common part of future and shared_future.
template <class R>
class future_handle {
 public:
  // Whether there is a result to wait for, or that was waited for and not taken.
  bool valid() const noexcept { return state_ != nullptr; }

  // All of these: std::future_error{no_state} if there is no result to wait for. They park a
  // goroutine and block a foreign thread.

  // Returns when the result is there.
  void wait() const { checked().done.wait(); }
  // Given up when the context ends, with its error. The first form throws std::system_error, both
  // std::bad_alloc.
  void wait(const context& ctx) const {
    std::error_code error;
    wait(ctx, error);
    if (error) throw std::system_error(error, "sley::future: wait");
  }
  void wait(const context& ctx, std::error_code& error) const { checked().done.wait(ctx, error); }
  // Whether get() would return at once. Never parks.
  bool is_ready() const { return checked().done.is_set(); }
  // Waits at most for d, or until t: ready or timeout. std::bad_alloc without memory for a timer.
  template <class Rep, class Period>
  future_status wait_for(const std::chrono::duration<Rep, Period>& d) const {
    return is_ready() ? future_status::ready : wait_until(time_in(d));
  }
  template <class Clock, class Duration>
  future_status wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
    one_shot& done = checked().done;
    const bool is_set = done.is_set() || wait_until_time(t, [&](std::int64_t deadline_ns) {
                          return done.wait_until(deadline_ns);
                        });
    return is_set ? future_status::ready : future_status::timeout;
  }

 protected:
  friend struct future_access;
  using state_ptr = std::shared_ptr<future_state<R>>;

  future_handle() noexcept = default;
  explicit future_handle(state_ptr state) noexcept : state_(std::move(state)) {}

  future_state<R>& checked() const {
    if (!state_) throw std::future_error(std::future_errc::no_state);
    return *state_;
  }

  state_ptr state_;
};

}  // namespace detail

template <class R>
class shared_future;

// The result of async, of a promise or of a packaged_task: as std::future, but waiting parks.
// Move-only; not for concurrent use. Destroying one does not wait.
template <class R>
class future : public detail::future_handle<R> {
  using base = detail::future_handle<R>;

 public:
  future() noexcept = default;
  future(const future&, detail::a_future_has_one_owner_use_std_move_or_share = {}) = delete;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  // Parks until the result is there, and returns it or throws the exception that came instead
  // (std::future_error{broken_promise} if no result can come any more, as when the goroutine ended
  // by exit()). Once only: valid() is false after. std::future_error{no_state} if there is no
  // result to wait for.
  R get() {
    this->checked();
    const auto state = std::move(this->state_);
    if constexpr (std::is_void_v<R>) {
      state->take_result();
    } else if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(*state->take_result());
    } else {
      return std::move(state->take_result());
    }
  }
  // This one is empty after.
  shared_future<R> share() noexcept { return shared_future<R>(std::move(*this)); }

 private:
  friend struct detail::future_access;
  friend class shared_future<R>;

  using base::base;
};

// As std::shared_future: copies share the result, and each may be used by another goroutine at the
// same time.
template <class R>
class shared_future : public detail::future_handle<R> {
 public:
  shared_future() noexcept = default;
  shared_future(future<R>&& other) noexcept : detail::future_handle<R>(std::move(other.state_)) {}

  // As future's, any number of times: a const reference to the result that all share, the reference
  // that it is, or nothing.
  decltype(auto) get() const {
    auto& state = this->checked();
    if constexpr (std::is_void_v<R>) {
      state.result();
    } else if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(*state.result());
    } else {
      return static_cast<const R&>(state.result());
    }
  }
};

namespace detail {

// For code that makes futures, or waits for the result without them.
struct future_access {
  template <class R>
  static future<R> make(std::shared_ptr<future_state<R>> state) noexcept {
    return future<R>(std::move(state));
  }
  template <class R>
  static const std::shared_ptr<future_state<R>>& state_of(const future_handle<R>& f) noexcept {
    return f.state_;
  }
};

}  // namespace detail

namespace detail {

// What a goroutine of async does. The callable is destroyed before the result is there.
template <class R, class F>
struct async_call {
  using self_destroying_task = void;

  std::shared_ptr<future_state<R>> state;
  F call;

  void call_and_destroy() {
    const std::shared_ptr<future_state<R>> own = std::move(state);
    std::destroy_at(&state);
    own->run(call);
  }
};

}  // namespace detail

// Calls f(args...), decay-copied, in a goroutine of its own; the result or the exception comes out
// of the future. If the future is dropped and get() was not called, an exception is a line of
// <sley/log.hpp>: for a goroutine without a result there is go(). Never parks. Any thread. Errors
// as go().
template <class F, class... Args>
[[nodiscard]] auto async(F&& f, Args&&... args) {
  detail::check_startable<F, Args...>();
  if constexpr (!detail::is_startable<F, Args...>) {
    return future<void>();
  } else {
    using result = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
    using bound = decltype(detail::bind_task(std::forward<F>(f), std::forward<Args>(args)...));
    detail::check_not_null<std::decay_t<F>>(f);
    auto state = std::make_shared<detail::future_state<result>>();
    detail::spawn_made(nullptr, [&] {
      return detail::async_call<result, bound>{
          state, detail::bind_task(std::forward<F>(f), std::forward<Args>(args)...)};
    });
    return detail::future_access::make<result>(std::move(state));
  }
}

}  // namespace sley
