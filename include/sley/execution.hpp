// Senders and receivers of std::execution (P2300) with goroutines: a scheduler whose work may park,
// a sync_wait that parks, and stop tokens that contexts and senders take from each other.
// Header-only; needs an implementation of P2300, which the library does not need.
//
//   auto page = sley::execution::async([](const sley::context& c) { return load(c); });
//   auto parsed = sley::execution::sync_wait(std::move(page) | stdexec::then(parse), ctx);
//
// The implementation is the standard library's if it has one, else stdexec, whose header is
// included from <stdexec/execution.hpp>. Another one, or stdexec beside the standard library's:
// include its header first, and define SLEY_EXECUTION_NAMESPACE as the namespace that has all of
// P2300's names.
#pragma once

#include <sley/context.hpp>
#include <sley/go.hpp>
#include <sley/wait_group.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(SLEY_EXECUTION_NAMESPACE)
namespace sley::execution {
namespace lib = ::SLEY_EXECUTION_NAMESPACE;
}
#elif defined(__cpp_lib_senders)
#include <execution>
namespace sley::execution::lib {
using namespace std::execution;
using std::forwarding_query, std::forwarding_query_t, std::get_stop_token, std::get_stop_token_t;
using std::stop_callback_for_t, std::stop_token_of_t;
}  // namespace sley::execution::lib
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
namespace sley::execution {
namespace lib = ::stdexec;
}
#else
#error "sley: <sley/execution.hpp> needs an implementation of std::execution, such as stdexec"
#endif

namespace sley::execution {

// Requests stop of a source of P2300's or of the standard's, and returns what that returns. Such a
// source tells by the thread whether a callback is destroyed by itself or must be waited for; a
// goroutine may go on on another thread at any time. So in a goroutine use this: the goroutine
// stays on its thread meanwhile. On a foreign thread it is no more than source.request_stop().
template <class Source>
auto request_stop(Source& source) noexcept {
  const os_thread_lock same_thread;
  return source.request_stop();
}

// From contexts to senders: the end of a context as a stop token that meets P2300's concept
// stoppable_token. It does not hold the context. Any thread.
class stop_token {
 public:
  // What P2300 asks of a token: the type that calls F when stop is requested, while it lives.
  template <class F>
  class callback_type {
   public:
    // As std::stop_callback's.
    template <class Initializer>
      requires std::constructible_from<F, Initializer>
    callback_type(const stop_token& token, Initializer&& f)
        : callback_(token.token_, std::forward<Initializer>(f)) {}

   private:
    std::stop_callback<F> callback_;
  };

  stop_token() noexcept = default;  // the background's: stop is never requested
  // Throws std::bad_alloc, for the first token of a context only.
  explicit stop_token(const context& ctx) : token_(ctx.stop_token()) {}

  // As std::stop_token's.
  bool stop_requested() const noexcept { return token_.stop_requested(); }
  bool stop_possible() const noexcept { return token_.stop_possible(); }
  friend bool operator==(const stop_token&, const stop_token&) noexcept = default;

 private:
  std::stop_token token_;
};

// From senders to contexts: a context that also ends, as canceled, when stop is requested of a
// token of P2300's. It ends with this object, too. Where the token can never be stopped, it is the
// parent itself. Throws std::bad_alloc.
template <class Token>
class stop_context {
 public:
  // Of that parent, until stop is requested of the token.
  stop_context(const context& parent, Token token) : ctx_(parent) {
    if (!token.stop_possible()) return;
    std::tie(ctx_, cancel_) = with_cancel(parent);
    on_stop_.emplace(std::move(token), canceler{cancel_});
  }
  ~stop_context() {
    on_stop_.reset();  // waits for a callback that is running
    cancel_();
  }
  stop_context(const stop_context&) = delete;
  stop_context& operator=(const stop_context&) = delete;

  // The context. Copies of it may outlive this object.
  const context& get() const noexcept { return ctx_; }

 private:
  struct canceler {
    cancel_function cancel;
    void operator()() const noexcept {
      const os_thread_lock same_thread;  // see request_stop()
      const auto c = cancel;             // functions that it calls may destroy this object
      c();
    }
  };

  context ctx_;
  cancel_function cancel_;  // ends nothing where the context is the parent
  std::optional<lib::stop_callback_for_t<Token, canceler>> on_stop_;
};

// A query of an environment's context, P2300's way: the context that a sender works for.
// Environments without one have the background.
struct get_context_t {
  // That of the environment.
  template <class Env>
  context operator()(const Env& env) const noexcept {
    if constexpr (requires { env.query(*this); }) {
      return env.query(*this);
    } else {
      return {};
    }
  }
  // Whether algorithms forward it.
  static constexpr bool query(lib::forwarding_query_t) noexcept { return true; }
};
// The query itself.
inline constexpr get_context_t get_context;

namespace detail {
template <class F>
class goroutine_sender;
template <class Sender>
class stop_when_sender;
template <class Sender>
struct sync_wait_result;
struct nothing {
  void operator()() const noexcept {}
};
}  // namespace detail

// A scheduler of P2300's: what it schedules runs in a goroutine of its own, so it may park, also if
// a foreign thread starts it. All schedulers are the same one. An operation is set_stopped if stop
// has been requested before its goroutine runs, and set_error with a std::bad_alloc, on the thread
// that starts it, if there is no memory for one. It allocates nothing but the goroutine.
class scheduler {
 public:
  using scheduler_concept = lib::scheduler_t;  // it is a scheduler of P2300's

  // The sender whose operations complete in new goroutines.
  detail::goroutine_sender<detail::nothing> schedule() const noexcept;

  // A goroutine that has begun goes on whatever others do.
  static constexpr auto query(lib::get_forward_progress_guarantee_t) noexcept {
    return lib::forward_progress_guarantee::parallel;
  }
  friend constexpr bool operator==(const scheduler&, const scheduler&) noexcept = default;
};

// The sender of f's result: f(), or f(ctx) if it takes a context, in a goroutine of its own for
// each operation. Nothing runs before an operation is started. ctx is made from the environment's
// context and ends when stop is requested of the receiver. Exceptions are set_error with a
// std::exception_ptr. The operation is set_stopped if stop has been requested before the goroutine
// runs, if f throws the error of its context after that has ended, and if f ends the goroutine with
// this_goroutine::exit(). It allocates the goroutine, and the context if stop can be requested.
template <class F>
detail::goroutine_sender<std::decay_t<F>> async(F&& f);

// A sender that does what the sender does, and of which stop is also requested when the context
// ends. The context that get_context() finds there is made from this one. Connecting it throws
// std::bad_alloc.
template <class Sender>
detail::stop_when_sender<std::decay_t<Sender>> stop_when(Sender&& sender, context ctx);

// Starts the sender on the calling goroutine, which parks until the sender has completed, on any
// thread; a foreign thread blocks. Returns the values of set_value as a tuple, and nullopt if the
// sender was stopped. Throws what came by set_error: exceptions that it points at,
// std::system_error for a std::error_code, and any other error itself. The end of the context
// requests stop, and the sender is still waited for; ctx.error() tells what has happened. It
// allocates nothing of its own. From std::this_thread::sync_wait, which would block the thread of a
// goroutine.
template <class Sender>
typename detail::sync_wait_result<Sender>::type sync_wait(Sender&& sender, const context& ctx = {});

// ------------------------------------------------------------------------------------------------

namespace detail {

// ---- a function in a goroutine ----

template <class F>
inline constexpr bool takes_context = std::invocable<F, const context&>;

template <class F>
struct result_of : std::invoke_result<F> {};
template <class F>
  requires takes_context<F>
struct result_of<F> : std::invoke_result<F, const context&> {};

template <class R>
struct set_value_of {
  using type = lib::set_value_t(R);
};
template <>
struct set_value_of<void> {
  using type = lib::set_value_t();
};

template <class F, class Receiver>
class goroutine_operation {
 public:
  using operation_state_concept = lib::operation_state_t;

  goroutine_operation(F f, Receiver receiver) : f_(std::move(f)), receiver_(std::move(receiver)) {}
  goroutine_operation(const goroutine_operation&) = delete;
  goroutine_operation& operator=(const goroutine_operation&) = delete;

  // Once it has started, the goroutine may destroy the operation.
  void start() & noexcept {
    std::exception_ptr error;
    try {
      go([this] { run(); });
      return;
    } catch (...) {
      error = std::current_exception();
    }
    lib::set_error(std::move(receiver_), std::move(error));
  }

 private:
  using result = typename result_of<F>::type;

  void run() {
    if (token().stop_requested()) return lib::set_stopped(std::move(receiver_));
    std::exception_ptr error;
    std::error_code ended;
    bool is_stopped = false;
    try {
      return complete(ended);
    } catch (const std::system_error& e) {
      error = std::current_exception();
      is_stopped = ended && e.code() == ended;
    } catch (...) {
      error = std::current_exception();
      if (!error) {  // no exception, but exit() unwinding the stack
        lib::set_stopped(std::move(receiver_));
        throw;
      }
    }
    if (is_stopped) return lib::set_stopped(std::move(receiver_));
    lib::set_error(std::move(receiver_), std::move(error));
  }

  // What call() has made for the call is gone before the receiver is told.
  void complete(std::error_code& ended) {
    if constexpr (std::is_void_v<result>) {
      call(ended);
      lib::set_value(std::move(receiver_));
    } else {
      lib::set_value(std::move(receiver_), call(ended));
    }
  }

  // `ended` becomes the error of the function's context if the function throws.
  result call(std::error_code& ended) {
    if constexpr (takes_context<F>) {
      const stop_context ctx(get_context(lib::get_env(receiver_)), token());
      try {
        return std::invoke(std::move(f_), ctx.get());
      } catch (...) {
        ended = ctx.get().error();
        throw;
      }
    } else {
      return std::invoke(std::move(f_));
    }
  }

  auto token() const noexcept { return lib::get_stop_token(lib::get_env(receiver_)); }

  F f_;
  Receiver receiver_;
};

template <class F>
class goroutine_sender {
 public:
  using sender_concept = lib::sender_t;
  using completion_signatures =
      lib::completion_signatures<typename set_value_of<typename result_of<F>::type>::type,
                                 lib::set_error_t(std::exception_ptr), lib::set_stopped_t()>;

  explicit goroutine_sender(F f) : f_(std::move(f)) {}

  template <class Receiver>
  goroutine_operation<F, Receiver> connect(Receiver receiver) && {
    return {std::move(f_), std::move(receiver)};
  }
  template <class Receiver>
    requires std::copy_constructible<F>
  goroutine_operation<F, Receiver> connect(Receiver receiver) const& {
    return {f_, std::move(receiver)};
  }

  struct env {
    static scheduler query(lib::get_completion_scheduler_t<lib::set_value_t>) noexcept {
      return {};
    }
  };
  env get_env() const noexcept { return {}; }

 private:
  F f_;
};

// ---- a sender that a context stops ----

// The environment of a receiver, but for the context and the stop token.
template <class Env>
struct stop_when_env {
  Env env;
  context ctx;
  stop_token token;

  const context& query(get_context_t) const noexcept { return ctx; }
  stop_token query(lib::get_stop_token_t) const noexcept { return token; }
  template <class Query, class... Args>
    requires(lib::forwarding_query(Query()) && std::invocable<Query, const Env&, Args...>)
  decltype(auto) query(Query q, Args&&... args) const
      noexcept(std::is_nothrow_invocable_v<Query, const Env&, Args...>) {
    return q(env, std::forward<Args>(args)...);
  }
};

template <class Sender, class Receiver>
class stop_when_operation {
 public:
  using operation_state_concept = lib::operation_state_t;

  stop_when_operation(Sender sender, const context& ctx, Receiver receiver)
      : receiver_(std::move(receiver)),
        ctx_(std::in_place, ctx, lib::get_stop_token(lib::get_env(receiver_))),
        token_(ctx_->get()),
        inner_(lib::connect(std::move(sender), inner_receiver{this})) {}
  stop_when_operation(const stop_when_operation&) = delete;
  stop_when_operation& operator=(const stop_when_operation&) = delete;

  void start() & noexcept { lib::start(inner_); }

 private:
  using env = stop_when_env<lib::env_of_t<Receiver>>;

  // The callback is gone before the receiver is told, because it may refer to the receiver's
  // source.
  struct inner_receiver {
    using receiver_concept = lib::receiver_t;
    stop_when_operation* operation;

    template <class... Values>
    void set_value(Values&&... values) && noexcept {
      operation->ctx_.reset();
      lib::set_value(std::move(operation->receiver_), std::forward<Values>(values)...);
    }
    template <class Error>
    void set_error(Error&& error) && noexcept {
      operation->ctx_.reset();
      lib::set_error(std::move(operation->receiver_), std::forward<Error>(error));
    }
    void set_stopped() && noexcept {
      operation->ctx_.reset();
      lib::set_stopped(std::move(operation->receiver_));
    }
    env get_env() const noexcept {
      return {lib::get_env(operation->receiver_), operation->ctx_->get(), operation->token_};
    }
  };

  Receiver receiver_;
  std::optional<stop_context<lib::stop_token_of_t<lib::env_of_t<Receiver>>>> ctx_;
  stop_token token_;
  lib::connect_result_t<Sender, inner_receiver> inner_;
};

template <class Sender>
class stop_when_sender {
 public:
  using sender_concept = lib::sender_t;

  stop_when_sender(Sender sender, context ctx) : sender_(std::move(sender)), ctx_(std::move(ctx)) {}

  template <class Env>
  auto get_completion_signatures(Env&&) const noexcept
      -> lib::completion_signatures_of_t<Sender, stop_when_env<std::decay_t<Env>>> {
    return {};
  }
  template <class Receiver>
  stop_when_operation<Sender, Receiver> connect(Receiver receiver) && {
    return {std::move(sender_), ctx_, std::move(receiver)};
  }
  template <class Receiver>
    requires std::copy_constructible<Sender>
  stop_when_operation<Sender, Receiver> connect(Receiver receiver) const& {
    return {sender_, ctx_, std::move(receiver)};
  }
  decltype(auto) get_env() const noexcept { return lib::get_env(sender_); }

 private:
  Sender sender_;
  context ctx_;
};

// ---- waiting for a sender ----

struct sync_wait_env {
  context ctx;
  stop_token token;

  const context& query(get_context_t) const noexcept { return ctx; }
  stop_token query(lib::get_stop_token_t) const noexcept { return token; }
  static scheduler query(lib::get_scheduler_t) noexcept { return {}; }
};

template <class... Values>
using decayed_tuple = std::tuple<std::decay_t<Values>...>;

template <class Sender>
struct sync_wait_result {
  using values = lib::value_types_of_t<Sender, sync_wait_env, decayed_tuple, std::type_identity_t>;
  using type = std::optional<values>;
};

// What has become of a sender, on the stack of the goroutine that waits.
template <class Values>
struct sync_wait_state {
  sync_wait_env env;
  wait_group completed{};
  std::optional<Values> values{};
  std::exception_ptr error{};
};

template <class Error>
std::exception_ptr as_exception(Error&& error) noexcept {
  if constexpr (std::same_as<std::decay_t<Error>, std::exception_ptr>) {
    return std::forward<Error>(error);
  } else if constexpr (std::same_as<std::decay_t<Error>, std::error_code>) {
    return std::make_exception_ptr(std::system_error(error, "sley::execution::sync_wait"));
  } else {
    return std::make_exception_ptr(std::forward<Error>(error));
  }
}

// done() is its last access to the state, which may be gone after.
template <class Values>
struct sync_wait_receiver {
  using receiver_concept = lib::receiver_t;
  sync_wait_state<Values>* state;

  template <class... Args>
  void set_value(Args&&... args) && noexcept {
    try {
      state->values.emplace(std::forward<Args>(args)...);
    } catch (...) {
      state->error = std::current_exception();
    }
    state->completed.done();
  }
  template <class Error>
  void set_error(Error&& error) && noexcept {
    state->error = as_exception(std::forward<Error>(error));
    state->completed.done();
  }
  void set_stopped() && noexcept { state->completed.done(); }
  const sync_wait_env& get_env() const noexcept { return state->env; }
};

}  // namespace detail

inline detail::goroutine_sender<detail::nothing> scheduler::schedule() const noexcept {
  return detail::goroutine_sender(detail::nothing());
}

template <class F>
detail::goroutine_sender<std::decay_t<F>> async(F&& f) {
  return detail::goroutine_sender<std::decay_t<F>>(std::forward<F>(f));
}

template <class Sender>
detail::stop_when_sender<std::decay_t<Sender>> stop_when(Sender&& sender, context ctx) {
  return {std::forward<Sender>(sender), std::move(ctx)};
}

template <class Sender>
typename detail::sync_wait_result<Sender>::type sync_wait(Sender&& sender, const context& ctx) {
  using values = typename detail::sync_wait_result<Sender>::values;
  detail::sync_wait_state<values> state{{ctx, stop_token(ctx)}};
  state.completed.add(1);
  auto operation =
      lib::connect(std::forward<Sender>(sender), detail::sync_wait_receiver<values>{&state});
  lib::start(operation);
  state.completed.wait();
  if (state.error) std::rethrow_exception(state.error);
  return std::move(state.values);
}

}  // namespace sley::execution
