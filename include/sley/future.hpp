// async and future: a goroutine with a result.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/wait_list.hpp>
#include <sley/go.hpp>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {

// Something that happens once, and can be waited for.
class SLEY_API one_shot {
 public:
  // FU-1  The result is handed over: store_release in set <-> load_acquire in is_set; through the
  //       lock for those who parked.
  bool is_set() const noexcept { return set_.load_acquire("FU-1"); }
  void set() noexcept;
  void wait();

 private:
  atomic<bool> set_;  // [atomic FU-1]
  wait_list waiters_;
};

template <class R>
struct future_state {
  using stored = std::conditional_t<
      std::is_void_v<R>, char,
      std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>>;

  // What f holds is destroyed before the result is there.
  template <class F>
  void run(F& f) {
    // The result is set also when the goroutine leaves f by exit(): as a broken promise.
    struct setter {
      future_state* state;
      ~setter() {
        if (!state->value && !state->error) {
          state->error =
              std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
        }
        state->done.set();
      }
    } guard{this};
    auto local = std::move(f);
    try {
      if constexpr (std::is_void_v<R>) {
        std::invoke(std::move(local));
        value.emplace();
      } else if constexpr (std::is_reference_v<R>) {
        value.emplace(&std::invoke(std::move(local)));
      } else {
        value.emplace(std::invoke(std::move(local)));
      }
    } catch (...) {
      error = std::current_exception();
      if (!error) throw;  // no exception, but exit() unwinding the stack
    }
  }

  R get() {
    done.wait();
    if (error) std::rethrow_exception(error);
    if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(**value);
    } else if constexpr (!std::is_void_v<R>) {
      return std::move(*value);
    }
  }

  one_shot done;
  std::optional<stored> value;
  std::exception_ptr error;
};

}  // namespace detail

// The result of async: as std::future, but get() and wait() park. Move-only; not for concurrent
// use. Destroying one does not wait.
template <class R>
class future {
 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  // Parks until the result is there, and returns it or throws what the goroutine threw
  // (std::future_error{broken_promise} if it ended by exit()). Once only: valid() is false after.
  // std::future_error{no_state} if there is no result to wait for.
  R get() {
    auto state = std::move(checked());
    return state->get();
  }
  // Parks until the result is there.
  void wait() const { checked()->done.wait(); }
  bool valid() const noexcept { return state_ != nullptr; }
  // Whether get() would return at once.
  bool is_ready() const { return checked()->done.is_set(); }

 private:
  template <class F, class... Args>
  friend auto async(F&& f, Args&&... args);
  using state_ptr = std::shared_ptr<detail::future_state<R>>;

  explicit future(state_ptr state) noexcept : state_(std::move(state)) {}
  const state_ptr& checked() const {
    if (!state_) throw std::future_error(std::future_errc::no_state);
    return state_;
  }
  state_ptr& checked() {
    if (!state_) throw std::future_error(std::future_errc::no_state);
    return state_;
  }

  state_ptr state_;
};

// Calls f(args...), decay-copied, in a goroutine of its own; the result or the exception comes out
// of the future. Never parks. Any thread. Errors as go().
template <class F, class... Args>
auto async(F&& f, Args&&... args) {
  using result = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
  auto state = std::make_shared<detail::future_state<result>>();
  go([state, call = detail::bind_task(std::forward<F>(f), std::forward<Args>(args)...)]() mutable {
    state->run(call);
  });
  return future<result>(std::move(state));
}

}  // namespace sley
