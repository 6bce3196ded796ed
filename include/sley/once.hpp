// Something that is done once, by the first caller.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/made_in_place.hpp>
#include <sley/detail/wait_list.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {
struct once_access;
}

// As std::once_flag: for call_once(). It must not be destroyed while a call is under way.
class SLEY_API once_flag {
 public:
  once_flag() noexcept = default;  // constexpr
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  friend struct detail::once_access;

  enum phase : std::uint32_t { open, running, done };

  // ON-1  A caller that finds the call done sees all that the call did: store_release(done) in end
  //       <-> load_acquire in is_done; through the waiters' lock if the caller parked.
  bool is_done() const noexcept { return phase_.load_acquire("ON-1") == done; }
  // Parks while another caller makes the call. True: the caller must make it, and then end().
  [[nodiscard]] bool begin();
  // The same, given up when the context ends: false, and `error` is set.
  [[nodiscard]] bool begin(const context& ctx, std::error_code& error);
  [[nodiscard]] bool begin(const context& ctx);
  bool begin_within(detail::wait_limit limit, bool& is_ours);
  void end(bool has_returned) noexcept;

  detail::atomic<std::uint32_t> phase_{open};  // [atomic ON-1], changed with the waiters' lock held
  detail::wait_list waiters_;
};

namespace detail {

struct once_access {
  template <class... With>
  static bool begin(once_flag& flag, With&... with) {
    return flag.begin(with...);
  }
  static bool is_done(const once_flag& flag) noexcept { return flag.is_done(); }
  // For the caller that must make the call.
  template <class F, class... Args>
  static void call(once_flag& flag, F&& f, Args&&... args) {
    struct finisher {
      once_flag& flag;
      bool has_returned = false;
      ~finisher() { flag.end(has_returned); }
    } guard{flag};
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    guard.has_returned = true;
  }
};

template <class T>
inline constexpr bool is_context = std::is_same_v<std::remove_cvref_t<T>, context>;

}  // namespace detail

// As std::call_once: calls f(args...) unless a call with this flag has returned. A caller that
// comes while a call is under way waits for it (a goroutine parks, a foreign thread blocks). If the
// call throws, or ends by this_goroutine::exit(), that comes out here, and the next caller calls f.
// Calling it for the same flag from f waits for ever.
template <class F, class... Args>
  requires(!detail::is_context<F>)
SLEY_ALWAYS_INLINE void call_once(once_flag& flag, F&& f, Args&&... args) {
  if (__builtin_expect(detail::once_access::is_done(flag), 1)) return;
  if (!detail::once_access::begin(flag)) return;
  detail::once_access::call(flag, std::forward<F>(f), std::forward<Args>(args)...);
}

// The same, given up when the context ends, with its error: a call that another caller makes goes
// on. A call of f is not ended; give f the context as well. The context comes first, because what
// follows f is what f is called with. The first form throws std::system_error, both std::bad_alloc.
template <class F>
void call_once(once_flag& flag, const context& ctx, F&& f) {
  if (detail::once_access::begin(flag, ctx)) detail::once_access::call(flag, std::forward<F>(f));
}
template <class F>
void call_once(once_flag& flag, const context& ctx, F&& f, std::error_code& error) {
  if (detail::once_access::begin(flag, ctx, error)) {
    detail::once_access::call(flag, std::forward<F>(f));
  }
}

namespace detail {

template <class F>
class once_value_state {
 public:
  using result = std::invoke_result_t<F&>;

  template <class G>
  explicit once_value_state(G&& f) : function_(std::in_place, std::forward<G>(f)) {}

  template <class... Context>
  decltype(auto) get(const Context&... ctx) {
    call_once(flag_, ctx..., [this] {
      if (function_) call();  // not again when it has left by exit()
    });
    if (error_) std::rethrow_exception(error_);
    if constexpr (std::is_reference_v<result>) {
      return static_cast<result>(**value_);
    } else if constexpr (!std::is_void_v<result>) {
      return static_cast<const result&>(*value_);
    }
  }

 private:
  using stored = std::conditional_t<
      std::is_void_v<result>, char,
      std::conditional_t<std::is_reference_v<result>, std::remove_reference_t<result>*, result>>;

  // The function is destroyed at once, with all that it holds.
  void call() {
    struct finisher {
      once_value_state* state;
      ~finisher() {
        state->function_.reset();
        if (!state->value_ && !state->error_) {
          state->error_ =
              std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
        }
      }
    } guard{this};
    try {
      if constexpr (std::is_void_v<result>) {
        std::invoke(*function_);
        value_.make([] { return stored(); });
      } else if constexpr (std::is_reference_v<result>) {
        value_.make([this] { return std::addressof(std::invoke(*function_)); });
      } else {
        value_.make([this]() -> result { return std::invoke(*function_); });
      }
    } catch (...) {
      error_ = std::current_exception();
      if (!error_) throw;  // no exception, but exit() unwinding the stack
    }
  }

  once_flag flag_;
  std::optional<F> function_;
  made_in_place<stored> value_;
  std::exception_ptr error_;
};

}  // namespace detail

// What once_value() returns. Copies share the one call.
template <class F>
class once_function {
 public:
  // As once_value().
  explicit once_function(F f)
      : state_(std::make_shared<detail::once_value_state<F>>(std::move(f))) {}

  // The first caller calls f; the others wait for it, as in call_once(). Returns a const reference
  // to the one result (or the reference that f returned), which lives as long as a copy of this; or
  // throws what f threw, the same exception each time.
  decltype(auto) operator()() const { return state_->get(); }
  // The same, given up when the context ends, with std::system_error and its error: a call that
  // another caller makes goes on. Throws std::bad_alloc besides.
  decltype(auto) operator()(const context& ctx) const { return state_->get(ctx); }

 private:
  template <class G>
  friend once_function<std::decay_t<G>> once_value(G&& f);
  explicit once_function(std::shared_ptr<detail::once_value_state<F>> state) noexcept
      : state_(std::move(state)) {}

  std::shared_ptr<detail::once_value_state<F>> state_;
};

// A function that calls f() when it is first called, and returns what that returned ever after. For
// f that returns nothing it is Go's sync.OnceFunc, else sync.OnceValue.
template <class F>
once_function<std::decay_t<F>> once_value(F&& f) {
  using function = std::decay_t<F>;
  return once_function<function>(
      std::make_shared<detail::once_value_state<function>>(std::forward<F>(f)));
}

}  // namespace sley
