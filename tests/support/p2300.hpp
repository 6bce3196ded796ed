// A small implementation of std::execution, from the text of P2300R10, for tests of
// <sley/execution.hpp>: the concepts, queries, stop tokens and customisation points, and the few
// algorithms that the tests use.
#pragma once

#include "support/p2300_stop_token.hpp"

#include <concepts>
#include <exception>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace p2300 {

// ---- queries ----

struct forwarding_query_t {
  template <class Query>
  constexpr bool operator()(Query q) const noexcept {
    if constexpr (requires { q.query(*this); }) {
      return q.query(*this);
    } else {
      return std::derived_from<Query, forwarding_query_t>;
    }
  }
};
inline constexpr forwarding_query_t forwarding_query;

// What only asks the environment.
template <class Self>
struct plain_query : forwarding_query_t {
  template <class Env>
    requires requires(const Env& env) { env.query(Self()); }
  constexpr decltype(auto) operator()(const Env& env) const noexcept {
    return env.query(Self());
  }
};

struct get_scheduler_t : plain_query<get_scheduler_t> {};
inline constexpr get_scheduler_t get_scheduler;
template <class Tag>
struct get_completion_scheduler_t : plain_query<get_completion_scheduler_t<Tag>> {};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler;

enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };
struct get_forward_progress_guarantee_t : plain_query<get_forward_progress_guarantee_t> {};
inline constexpr get_forward_progress_guarantee_t get_forward_progress_guarantee;

struct empty_env {};
struct get_env_t {
  template <class T>
  constexpr decltype(auto) operator()(const T& t) const noexcept {
    if constexpr (requires { t.get_env(); }) {
      static_assert(noexcept(t.get_env()));
      return t.get_env();
    } else {
      return empty_env();
    }
  }
};
inline constexpr get_env_t get_env;
template <class T>
using env_of_t = decltype(get_env(std::declval<T>()));

// ---- completions ----

struct get_stop_token_t : forwarding_query_t {
  template <class Env>
  constexpr auto operator()(const Env& env) const noexcept {
    if constexpr (requires { env.query(*this); }) {
      static_assert(stoppable_token<std::decay_t<decltype(env.query(*this))>>);
      return env.query(*this);
    } else {
      return never_stop_token();
    }
  }
};
inline constexpr get_stop_token_t get_stop_token;
template <class Env>
using stop_token_of_t = std::remove_cvref_t<decltype(get_stop_token(std::declval<Env>()))>;

struct receiver_t {};
struct sender_t {};
struct operation_state_t {};
struct scheduler_t {};

struct set_value_t {
  template <class Receiver, class... Values>
  void operator()(Receiver&& receiver, Values&&... values) const noexcept {
    static_assert(noexcept(std::move(receiver).set_value(std::forward<Values>(values)...)));
    std::move(receiver).set_value(std::forward<Values>(values)...);
  }
};
inline constexpr set_value_t set_value;
struct set_error_t {
  template <class Receiver, class Error>
  void operator()(Receiver&& receiver, Error&& error) const noexcept {
    static_assert(noexcept(std::move(receiver).set_error(std::forward<Error>(error))));
    std::move(receiver).set_error(std::forward<Error>(error));
  }
};
inline constexpr set_error_t set_error;
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    static_assert(noexcept(std::move(receiver).set_stopped()));
    std::move(receiver).set_stopped();
  }
};
inline constexpr set_stopped_t set_stopped;

template <class... Signatures>
struct completion_signatures {};

template <class Sender, class Env>
auto signatures_of() {
  if constexpr (requires(Sender&& s, Env&& e) { s.get_completion_signatures(std::move(e)); }) {
    return decltype(std::declval<Sender>().get_completion_signatures(std::declval<Env>()))();
  } else {
    return typename std::remove_cvref_t<Sender>::completion_signatures();
  }
}
template <class Sender, class Env = empty_env>
using completion_signatures_of_t = decltype(signatures_of<Sender, Env>());

// The lists of set_value's types, one after the other.
template <template <class...> class Tuple, template <class...> class Variant, class Signatures,
          class... Found>
struct gather_values;
template <template <class...> class Tuple, template <class...> class Variant, class... Found>
struct gather_values<Tuple, Variant, completion_signatures<>, Found...> {
  using type = Variant<Found...>;
};
template <template <class...> class Tuple, template <class...> class Variant, class Signature,
          class... Rest, class... Found>
struct gather_values<Tuple, Variant, completion_signatures<Signature, Rest...>, Found...>
    : gather_values<Tuple, Variant, completion_signatures<Rest...>, Found...> {};
template <template <class...> class Tuple, template <class...> class Variant, class... Values,
          class... Rest, class... Found>
struct gather_values<Tuple, Variant, completion_signatures<set_value_t(Values...), Rest...>,
                     Found...>
    : gather_values<Tuple, Variant, completion_signatures<Rest...>, Found..., Tuple<Values...>> {};
template <class Sender, class Env, template <class...> class Tuple,
          template <class...> class Variant>
using value_types_of_t =
    typename gather_values<Tuple, Variant, completion_signatures_of_t<Sender, Env>>::type;

template <class Sender>
concept sender =
    std::derived_from<typename std::remove_cvref_t<Sender>::sender_concept, sender_t> &&
    std::move_constructible<std::remove_cvref_t<Sender>> &&
    std::constructible_from<std::remove_cvref_t<Sender>, Sender>;
template <class Receiver>
concept receiver =
    std::derived_from<typename std::remove_cvref_t<Receiver>::receiver_concept, receiver_t> &&
    std::is_nothrow_move_constructible_v<std::remove_cvref_t<Receiver>>;
template <class Operation>
concept operation_state =
    std::derived_from<typename Operation::operation_state_concept, operation_state_t> &&
    requires(Operation& operation) {
      { operation.start() } noexcept;
    };

struct connect_t {
  template <sender Sender, receiver Receiver>
  auto operator()(Sender&& s, Receiver r) const {
    static_assert(operation_state<decltype(std::forward<Sender>(s).connect(std::move(r)))>);
    return std::forward<Sender>(s).connect(std::move(r));
  }
};
inline constexpr connect_t connect;
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

struct start_t {
  template <operation_state Operation>
  void operator()(Operation& operation) const noexcept {
    operation.start();
  }
};
inline constexpr start_t start;

struct schedule_t {
  template <class Scheduler>
  auto operator()(const Scheduler& s) const noexcept {
    return s.schedule();
  }
};
inline constexpr schedule_t schedule;
template <class Scheduler>
concept scheduler = std::derived_from<typename Scheduler::scheduler_concept, scheduler_t> &&
                    std::copyable<Scheduler> && std::equality_comparable<Scheduler> &&
                    requires(const Scheduler& s) {
                      { schedule(s) } -> sender;
                      {
                        get_completion_scheduler<set_value_t>(get_env(schedule(s)))
                      } -> std::same_as<std::remove_cvref_t<Scheduler>>;
                    };

// ---- algorithms ----

template <class... Values>
struct just_sender {
  using sender_concept = sender_t;
  using completion_signatures = p2300::completion_signatures<set_value_t(Values...)>;
  template <class Receiver>
  struct operation {
    using operation_state_concept = operation_state_t;
    Receiver receiver;
    std::tuple<Values...> values;
    void start() & noexcept {
      std::apply([&](auto&... v) { set_value(std::move(receiver), std::move(v)...); }, values);
    }
  };
  template <class Receiver>
  operation<Receiver> connect(Receiver r) const {
    return {std::move(r), values};
  }
  std::tuple<Values...> values;
};
template <class... Values>
just_sender<std::decay_t<Values>...> just(Values&&... values) {
  return {{std::forward<Values>(values)...}};
}

// The signature of set_value with f's result, and an exception_ptr beside the other signatures.
template <class F, class Signature>
struct then_signature {
  using type = Signature;
};
template <class F, class... Values>
struct then_signature<F, set_value_t(Values...)> {
  using result = std::invoke_result_t<F, Values...>;
  template <class R>
  struct of {
    using type = set_value_t(R);
  };
  template <class R>
    requires std::is_void_v<R>
  struct of<R> {
    using type = set_value_t();
  };
  using type = typename of<result>::type;
};
template <class F, class Signatures>
struct then_signatures;
template <class F, class... Signatures>
struct then_signatures<F, completion_signatures<Signatures...>> {
  using type = completion_signatures<typename then_signature<F, Signatures>::type...,
                                     set_error_t(std::exception_ptr)>;
};

template <class F, class Receiver>
struct then_receiver {
  using receiver_concept = receiver_t;
  F f;
  Receiver receiver;
  template <class... Values>
  void set_value(Values&&... values) && noexcept {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F, Values...>>) {
        std::invoke(std::move(f), std::forward<Values>(values)...);
        p2300::set_value(std::move(receiver));
      } else {
        p2300::set_value(std::move(receiver),
                         std::invoke(std::move(f), std::forward<Values>(values)...));
      }
    } catch (...) {
      p2300::set_error(std::move(receiver), std::current_exception());
    }
  }
  template <class Error>
  void set_error(Error&& error) && noexcept {
    p2300::set_error(std::move(receiver), std::forward<Error>(error));
  }
  void set_stopped() && noexcept { p2300::set_stopped(std::move(receiver)); }
  decltype(auto) get_env() const noexcept { return p2300::get_env(receiver); }
};
template <class Sender, class F>
struct then_sender {
  using sender_concept = sender_t;
  Sender sender;
  F f;
  template <class Env>
  auto get_completion_signatures(Env&&) const ->
      typename then_signatures<F, completion_signatures_of_t<Sender, Env>>::type {
    return {};
  }
  template <class Receiver>
  auto connect(Receiver r) && {
    return p2300::connect(std::move(sender),
                          then_receiver<F, Receiver>{std::move(f), std::move(r)});
  }
};
template <class Sender, class F>
then_sender<std::decay_t<Sender>, std::decay_t<F>> then(Sender&& s, F&& f) {
  return {std::forward<Sender>(s), std::forward<F>(f)};
}
template <class F>
struct then_closure {
  F f;
  template <sender Sender>
  friend auto operator|(Sender&& s, then_closure self) {
    return then(std::forward<Sender>(s), std::move(self.f));
  }
};
template <class F>
then_closure<std::decay_t<F>> then(F&& f) {
  return {std::forward<F>(f)};
}

}  // namespace p2300
