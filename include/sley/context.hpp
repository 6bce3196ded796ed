// Cancellation, deadlines and values that travel with a request through calls and goroutines. From
// Go's package context.
//
//   auto [ctx, cancel] = sley::with_timeout(request.context(), 2s);
//   sley::select(sley::on_receive(answers, use), sley::on_receive(ctx.done(), give_up));
//
// A context is a handle: copies name the same one. Contexts form trees; when one ends, all that
// were made from it have ended by the time the call that ended it returns. A context stays as long
// as a copy of it, its cancel function or a context made from it exists; its channel and its stop
// token do not hold it. A context that is not held never ends, and leaves its parent. Any thread
// may call everything here at any time. A function here parks only while another caller ends the
// same tree.
//
// Sleeping, channels, the locks and counts of <sley/sync.hpp>, calls that are made once, futures,
// name lookup, connecting and accepting, streams, files, datagrams, poll_fd, processes and HTTP can
// be given a context to wait with. docs/synchronisation.md lists all waits, and says which no
// context ends, and why. There are two forms:
// `f(..., ctx)` throws std::system_error with the context's error, which tells a cancellation from
// a deadline, and `f(..., ctx, error)` sets it. Each looks at the context first: once it has ended,
// the function does nothing and reports the context's error, even if its work could have been done
// at once. If the context ends meanwhile, the function gives up, and a connection or process that
// it was making is closed again. A value, a lock or a unit that it has got by then it keeps, and
// there is no error. So Go's net.Dialer, exec.Cmd, http.Client and golang.org/x/sync/semaphore. In
// a select, ctx.done() is a case like any other: of the cases that are ready any may be chosen.
#pragma once

#include <sley/chan.hpp>
#include <sley/detail/config.hpp>
#include <sley/time.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace sley {

// Why a context ended. They compare equal to std::errc::operation_canceled and timed_out.
enum class context_errc { canceled = 1, deadline_exceeded };

// For std::error_code.
SLEY_API const std::error_category& context_category() noexcept;
inline std::error_code make_error_code(context_errc e) noexcept {
  return {static_cast<int>(e), context_category()};
}

namespace detail {
struct context_node;
struct context_callback_node;
struct context_access;
}  // namespace detail

// When work is not wanted any more, and what belongs to it. See the head of this file.
class SLEY_API context {
 public:
  context() noexcept = default;  // the background
  // Never ends, has no deadline and no values: the root of all trees.
  static const context& background() noexcept;

  // Closed when the context ends. The background's is the nil channel. Throws std::bad_alloc.
  recv_chan<void> done() const;
  // Empty while the context is live, else a context_errc; done() is closed by then.
  std::error_code error() const noexcept;
  // The cause that the context was ended with, which is its parent's if that ended it; if none was
  // given, a std::system_error with error(). Null while it is live. From Go's context.Cause.
  std::exception_ptr cause() const;
  // The earliest of its own and its parents'.
  std::optional<time_point> deadline() const noexcept;
  // The nearest value of that key and that type, as long as the context is held; null if there is
  // none.
  template <class T>
  const T* value(std::string_view key) const noexcept {
    return static_cast<const T*>(find(key, typeid(T)));
  }
  // Stop is requested of it when the context ends. The background's can never be. Throws
  // std::bad_alloc.
  std::stop_token stop_token() const;
  // "background.with_cancel.with_value(user)"
  std::string to_string() const;

  context(const context& other) noexcept;
  context(context&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  context& operator=(context other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~context();
  // Whether both are the same one.
  friend bool operator==(const context&, const context&) noexcept = default;

 private:
  friend struct detail::context_access;
  explicit context(detail::context_node* node) noexcept : node_(node) {}
  const void* find(std::string_view key, const std::type_info& type) const noexcept;

  detail::context_node* node_ = nullptr;  // null: the background
};

// Ends a context as canceled, and with it all that were made from it; after the first time it does
// nothing. Functions of after_func() are started, functions of stop tokens have run, and waits with
// the context have been ended, when it returns.
class SLEY_API cancel_function {
 public:
  cancel_function() noexcept = default;  // ends nothing
  explicit cancel_function(context ctx) noexcept : ctx_(std::move(ctx)) {}
  // Ends it.
  void operator()() const noexcept;

 private:
  context ctx_;
};

// The same, with what cause() shall be; null: no more than the error.
class SLEY_API cancel_cause_function {
 public:
  cancel_cause_function() noexcept = default;  // ends nothing
  // Of that context; calling it ends the context.
  explicit cancel_cause_function(context ctx) noexcept : ctx_(std::move(ctx)) {}
  void operator()(std::exception_ptr cause) const noexcept;

 private:
  context ctx_;
};

// Contexts made from a parent, which end when it does. Calling the cancel function as soon as the
// work is done frees the parent and the timer of them. They throw std::bad_alloc. From Go's
// functions of the same names.
SLEY_API std::pair<context, cancel_function> with_cancel(const context& parent);
SLEY_API std::pair<context, cancel_cause_function> with_cancel_cause(const context& parent);
// Ends at that time as well, with deadline_exceeded, and with the cause if one is given; at once if
// the time has come, or d is not positive. time_point::max() and the like are no deadline.
SLEY_API std::pair<context, cancel_function> with_deadline(const context& parent, instant when,
                                                           std::exception_ptr cause = nullptr);
SLEY_API std::pair<context, cancel_function> with_timeout(const context& parent, time_span d,
                                                          std::exception_ptr cause = nullptr);
// Ends as canceled when stop is requested as well, before request_stop() returns.
SLEY_API context with_stop_token(const context& parent, std::stop_token token);
// Has the parent's values, and neither its end nor its deadline.
SLEY_API context without_cancel(const context& parent);

namespace this_goroutine {

// As sleep_for() and sleep_until() of <sley/go.hpp>, given up when the context ends, with its
// error. The first forms throw std::system_error, all of them std::bad_alloc.
SLEY_API void sleep_for(time_span d, const context& ctx);
SLEY_API void sleep_for(time_span d, const context& ctx, std::error_code& error);
SLEY_API void sleep_until(instant t, const context& ctx);
SLEY_API void sleep_until(instant t, const context& ctx, std::error_code& error);

}  // namespace this_goroutine

// What after_func() returns. Copies name the same registration; dropping it changes nothing.
class SLEY_API context_callback {
 public:
  context_callback() noexcept = default;
  // Whether it kept the function from being started; then it never will be.
  bool stop() const noexcept;

 private:
  friend struct detail::context_access;
  context ctx_;
  std::shared_ptr<detail::context_callback_node> node_;
};

namespace detail {
SLEY_API context with_erased_value(const context& parent, std::string_view key,
                                   const std::type_info& type, std::shared_ptr<const void> value);
SLEY_API context_callback call_after(const context& ctx, std::function<void()> f);
// The same, and the call that ends the context calls f itself, before it returns. f throws nothing,
// and is short: others wait for it.
SLEY_API context_callback call_at_end(const context& ctx, std::function<void()> f);
// False for the background, and for what is made from it with values alone.
SLEY_API bool can_end(const context& ctx) noexcept;
}  // namespace detail

// Has one more value, which is constant and must be safe to read from several threads.
template <class T>
context with_value(const context& parent, std::string_view key, T value) {
  return detail::with_erased_value(parent, key, typeid(T),
                                   std::make_shared<const T>(std::move(value)));
}

// Calls f in a goroutine of its own when the context has ended, at once if it has already. Until
// then, or until stop(), it holds the context.
template <class F>
context_callback after_func(const context& ctx, F&& f) {
  detail::check_timed_function<F>();
  if constexpr (detail::is_timed_function<F>) {
    auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
    return detail::call_after(ctx, [shared] { std::invoke(*shared); });
  } else {
    return {};
  }
}

// Refused: the arguments are the other way round.
template <class F>
  requires(!std::is_convertible_v<F, const context&> && !std::is_convertible_v<F, time_span>)
context_callback after_func(F&&, const context&) {
  static_assert(!std::is_same_v<F, F>,
                "sley::after_func: the context comes first: after_func(ctx, f)");
  return {};
}

}  // namespace sley

template <>
struct std::is_error_code_enum<sley::context_errc> : std::true_type {};
