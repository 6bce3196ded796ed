// select: wait for the first of several channel operations, with Go's meaning.
#pragma once

#include <sley/chan.hpp>
#include <sley/detail/chan_core.hpp>
#include <sley/detail/config.hpp>
#include <sley/time_span.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sley {

namespace detail {

struct nothing {
  void operator()(auto&&...) const noexcept {}
};

template <class Channel>
using value_of = typename std::remove_cvref_t<Channel>::value_type;

template <class Channel>
concept channel_handle = std::is_base_of_v<chan_handle, std::remove_cvref_t<Channel>>;
template <class Channel>
concept receiving_handle =
    channel_handle<Channel> &&
    !std::is_base_of_v<only_sends<value_of<Channel>>, std::remove_cvref_t<Channel>>;
template <class Channel>
concept sending_handle =
    channel_handle<Channel> &&
    !std::is_base_of_v<only_receives<value_of<Channel>>, std::remove_cvref_t<Channel>>;
template <class Channel, class V>
concept sends = sending_handle<Channel> && !std::is_void_v<value_of<Channel>> &&
                std::is_convertible_v<V, value_of<Channel>>;
template <class Channel>
concept sends_signals = sending_handle<Channel> && std::is_void_v<value_of<Channel>>;

// What a case that receives gives to its function.
template <class Channel>
using received_by_case = std::conditional_t<std::is_void_v<value_of<Channel>>, bool,
                                            std::optional<element<value_of<Channel>>>>;
template <class Channel, class F>
concept receives_into =
    receiving_handle<Channel> && std::is_invocable_v<F&, received_by_case<Channel>>;

// Each of these says in one sentence what is wrong with a call. So that the compiler says no more
// than that, the caller then goes on with none of what it was given.

template <class Channel, class F>
SLEY_ALWAYS_INLINE constexpr void check_receive() noexcept {
  static_assert(receiving_handle<Channel>, "sley: a receive needs a chan or a recv_chan");
  if constexpr (receiving_handle<Channel> && std::is_void_v<value_of<Channel>>) {
    static_assert(receives_into<Channel, F>,
                  "sley: the function of a case that receives from a chan<void> takes a bool");
  } else if constexpr (receiving_handle<Channel>) {
    static_assert(receives_into<Channel, F>,
                  "sley: the function of a case that receives takes a std::optional<T>, which is "
                  "empty once the channel is closed");
  }
}

template <class Channel, class V>
SLEY_ALWAYS_INLINE constexpr void check_send() noexcept {
  static_assert(sending_handle<Channel>, "sley: a send needs a chan or a send_chan");
  static_assert(!sending_handle<Channel> || sends<Channel, V>,
                "sley: the value does not convert to what the channel carries");
}

template <class Channel>
SLEY_ALWAYS_INLINE constexpr void check_send_without_value() noexcept {
  static_assert(sending_handle<Channel>, "sley: a send needs a chan or a send_chan");
  static_assert(!sending_handle<Channel> || sends_signals<Channel>,
                "sley: a send needs a value, except over a chan<void>");
}

template <class F>
SLEY_ALWAYS_INLINE constexpr void check_function_of_case() noexcept {
  static_assert(std::is_invocable_v<F&>,
                "sley: the function of a case that does not receive takes no arguments, and a "
                "chan<void> no value");
}

// The channel of a case whose handle outlives the select, as that of an lvalue does. Counting one
// more reference would cost as much as locking the channel.
class borrowed_ref {
 public:
  borrowed_ref(const chan_ref& ref) noexcept : core_(ref.core()) {}
  chan_core* core() const noexcept { return core_; }

 private:
  chan_core* core_;
};

// What a case made from this handle keeps of it: of a temporary, the reference itself.
template <class Channel>
using case_ref = std::conditional_t<std::is_lvalue_reference_v<Channel>, borrowed_ref, chan_ref>;

// A case of a select; each kind fills in its part of the erased call and runs its function after.
template <class T, class F, class Ref>
class receive_case {
 public:
  static constexpr bool is_channel_case = true;

  receive_case(Ref channel, F f) : channel_(std::move(channel)), f_(std::move(f)) {}

  select_case erased() noexcept {
    return {channel_.core(), &slot_.value, case_kind::receive, false};
  }
  void run(bool received) {
    if constexpr (std::is_void_v<T>) {
      std::invoke(f_, received);
    } else {
      std::invoke(f_, received ? slot_.take() : std::nullopt);
    }
  }

 private:
  Ref channel_;
  [[no_unique_address]] F f_;
  receive_slot<element<T>> slot_;
};

template <class T, class F, class Ref>
class send_case {
 public:
  static constexpr bool is_channel_case = true;

  send_case(Ref channel, element<T> value, F f)
      : channel_(std::move(channel)), value_(std::move(value)), f_(std::move(f)) {}

  select_case erased() noexcept { return {channel_.core(), &value_, case_kind::send, false}; }
  void run(bool) { std::invoke(f_); }

 private:
  Ref channel_;
  element<T> value_;
  [[no_unique_address]] F f_;
};

// The delay of a default case, which is shorter than any timeout.
inline constexpr std::int64_t never_park = -1;

template <class F>
class timeout_case {
 public:
  static constexpr bool is_channel_case = false;
  timeout_case(time_span d, F f) : delay_(d), f_(std::move(f)) {}
  // What is over already is over at the same time, however long it has been.
  std::int64_t delay_ns() const noexcept { return delay_.count() < 0 ? 0 : delay_.count(); }
  void run(bool) { std::invoke(f_); }

 private:
  time_span delay_;
  [[no_unique_address]] F f_;
};

template <class F>
class default_case {
 public:
  static constexpr bool is_channel_case = false;
  explicit default_case(F f) : f_(std::move(f)) {}
  std::int64_t delay_ns() const noexcept { return never_park; }
  void run(bool) { std::invoke(f_); }

 private:
  [[no_unique_address]] F f_;
};

// A case that fires by a signal, which may be a false alarm: erased() begins to send signals into a
// channel, confirm() tells of one that has come whether it is true, and end() is the end of them.
template <class Case>
concept alarm_case = requires(std::remove_cvref_t<Case>& c) {
  { c.confirm() } -> std::same_as<bool>;
  c.end();
};

// Ends the signals of the cases that have them.
template <class... Cases>
class alarms {
 public:
  explicit alarms(Cases&... cases) noexcept : cases_(cases...) {}
  ~alarms() {
    std::apply([](auto&... c) { (end(c), ...); }, cases_);
  }
  alarms(const alarms&) = delete;
  alarms& operator=(const alarms&) = delete;

  // Of the case with that index; others are never false.
  bool confirm(std::size_t chosen) {
    return std::apply(
        [chosen](auto&... c) {
          std::size_t index = 0;
          return ((index++ != chosen || is_true(c)) && ...);
        },
        cases_);
  }

 private:
  template <class Case>
  static void end(Case& c) noexcept {
    if constexpr (alarm_case<Case>) c.end();
  }
  template <class Case>
  static bool is_true(Case& c) {
    if constexpr (alarm_case<Case>) return c.confirm();
    return true;
  }

  std::tuple<Cases&...> cases_;
};

// What stands for a case that was refused.
using refused_case = timeout_case<nothing>;

template <class Case>
concept select_case_type = requires { Case::is_channel_case; };

template <class Case>
inline constexpr bool is_default_case = false;
template <class F>
inline constexpr bool is_default_case<default_case<F>> = true;

// The cases of one select: those on channels are lined up for the erased call, and of the others
// the shortest delay counts. Cases with the same shortest delay have equal chances.
template <std::size_t Count>
class select_call {
 public:
  template <class Case>
  void add(std::size_t index, Case& c) noexcept {
    if constexpr (Case::is_channel_case) {
      cases_[used_] = c.erased();
      index_of_[used_] = index;
      ++used_;
    } else {
      const std::int64_t delay_ns = c.delay_ns();
      if (delay_ns > shortest_ns_) return;
      if (delay_ns < shortest_ns_) timeouts_ = 0;
      shortest_ns_ = delay_ns;
      timeout_index_[timeouts_++] = index;
    }
  }

  // 0 is in the past, and then nothing parks.
  std::int64_t deadline_ns() const noexcept {
    if (timeouts_ == 0) return no_deadline;
    return shortest_ns_ == never_park ? 0 : deadline_after(shortest_ns_);
  }
  // Returns the chosen case's index, and whether it received.
  std::pair<std::size_t, bool> choose(std::int64_t deadline_ns) {
    const std::size_t i = select(cases_.data(), used_, deadline_ns, scratch_);
    if (i >= used_) return {timeout_index_[choose_below(timeouts_)], false};
    return {index_of_[i], cases_[i].received};
  }

 private:
  std::array<select_case, Count> cases_;
  std::array<std::size_t, Count> index_of_;
  std::array<std::size_t, Count> timeout_index_;  // of the cases with the shortest delay
  std::size_t used_ = 0;
  std::size_t timeouts_ = 0;
  std::int64_t shortest_ns_ = no_deadline;
  alignas(std::max_align_t) std::byte scratch_[select_scratch_bytes(Count)];
};

// A select of at least one case. Returns the index of the case that was chosen.
template <class... Cases>
std::size_t choose_and_run(Cases&... cases) {
  select_call<sizeof...(Cases)> call;
  std::size_t next = 0;
  std::pair<std::size_t, bool> choice;
  if constexpr ((alarm_case<Cases> || ...)) {
    alarms all(cases...);
    (call.add(next++, cases), ...);
    const std::int64_t deadline_ns = call.deadline_ns();
    do {  // ends: each false alarm is one of an event
      choice = call.choose(deadline_ns);
    } while (!all.confirm(choice.first));
  } else {
    (call.add(next++, cases), ...);
    choice = call.choose(call.deadline_ns());
  }
  const auto [chosen, received] = choice;
  std::size_t index = 0;
  (void)((index++ == chosen ? (cases.run(received), true) : false) || ...);
  return chosen;
}

}  // namespace detail

// A case that receives: f(std::optional<T>), nullopt once the channel is closed and drained;
// f(bool received) for chan<void>. A nil channel's case never fires. The channel is a chan or a
// recv_chan; a handle that is not a temporary must outlive the select, as it does when the case is
// written in the call.
template <class Channel, class F = detail::nothing>
auto on_receive(Channel&& channel, F f = {}) {
  detail::check_receive<Channel, F>();
  if constexpr (detail::receives_into<Channel, F>) {
    return detail::receive_case<detail::value_of<Channel>, F, detail::case_ref<Channel>>(
        std::forward<Channel>(channel).ref(), std::move(f));
  } else {
    return detail::refused_case({}, {});
  }
}

// A case that sends the value, converted to the channel's type, and then calls f(). The value is
// lost if another case is chosen. A closed channel's case, if chosen, throws channel_closed out of
// select. The channel is a chan or a send_chan, as for on_receive.
template <class Channel, class V = detail::value_of<Channel>, class F = detail::nothing>
  requires(!detail::sends_signals<Channel>)
auto on_send(Channel&& channel, V&& value, F f = {}) {
  detail::check_send<Channel, V>();
  detail::check_function_of_case<F>();
  if constexpr (detail::sends<Channel, V> && std::is_invocable_v<F&>) {
    using type = detail::value_of<Channel>;
    return detail::send_case<type, F, detail::case_ref<Channel>>(
        std::forward<Channel>(channel).ref(), static_cast<type>(std::forward<V>(value)),
        std::move(f));
  } else {
    return detail::refused_case({}, {});
  }
}
template <class Channel, class F = detail::nothing>
  requires detail::sends_signals<Channel>
auto on_send(Channel&& channel, F f = {}) {
  detail::check_function_of_case<F>();
  if constexpr (std::is_invocable_v<F&>) {
    return detail::send_case<void, F, detail::case_ref<Channel>>(
        std::forward<Channel>(channel).ref(), char{}, std::move(f));
  } else {
    return detail::refused_case({}, {});
  }
}
// Refused.
template <class Channel>
  requires(!detail::sends_signals<Channel>)
auto on_send(Channel&&) {
  detail::check_send_without_value<Channel>();
  return detail::refused_case({}, {});
}

// A case that fires when none of the others has for d, and calls f().
template <class F = detail::nothing>
auto on_timeout(time_span d, F f = {}) {
  detail::check_function_of_case<F>();
  if constexpr (std::is_invocable_v<F&>) {
    return detail::timeout_case<F>(d, std::move(f));
  } else {
    return detail::refused_case({}, {});
  }
}

// The default case: chosen, and f() called, when no other case is ready at once.
template <class F = detail::nothing>
auto otherwise(F f = {}) {
  detail::check_function_of_case<F>();
  if constexpr (std::is_invocable_v<F&>) {
    return detail::default_case<F>(std::move(f));
  } else {
    return detail::refused_case({}, {});
  }
}

// select {} : parks for ever.
[[noreturn]] SLEY_API void block_forever();

// Waits until one of the cases can go on, does it, calls its function and returns its index. Among
// several that are ready one is chosen with equal chances, and so is one of several cases that wait
// on one channel, or of timeouts of the same length. With otherwise() it never parks; there is at
// most one.
// Channels and values are evaluated once, before anything is chosen (in which order is C++'s
// choice); the function runs after all channels are let go, and what it throws comes out of select.
// Goroutines and foreign threads. From Go's select statement (runtime.selectgo).
template <class... Cases>
std::size_t select(Cases&&... cases) {
  constexpr bool are_cases = (detail::select_case_type<std::remove_cvref_t<Cases>> && ...);
  constexpr int defaults = (0 + ... + int{detail::is_default_case<std::remove_cvref_t<Cases>>});
  static_assert(sizeof...(Cases) > 0, "sley::select: for no cases at all, use block_forever()");
  static_assert(are_cases,
                "sley::select: each case is made by on_receive, on_send, on_timeout, otherwise or "
                "os::on_ready");
  static_assert(defaults <= 1, "sley::select: there is more than one otherwise()");
  if constexpr (sizeof...(Cases) > 0 && are_cases) {
    return detail::choose_and_run(cases...);
  } else {
    return 0;
  }
}

// A select whose cases are known only at run time. Not for concurrent use; the set can be waited on
// again and again (a send case sends a copy of its value each time). Channels are kept alive by it.
class select_set {
 public:
  select_set() = default;
  select_set(select_set&&) noexcept = default;
  select_set& operator=(select_set&&) noexcept = default;

  // Each returns the case's index.
  template <class Channel, class F = detail::nothing>
  std::size_t add_receive(const Channel& channel, F f = {}) {
    detail::check_receive<Channel, F>();
    if constexpr (detail::receives_into<Channel, F>) {
      using type = detail::value_of<Channel>;
      return add(std::make_unique<receive_entry<type, F>>(channel.ref(), std::move(f)));
    } else {
      return 0;
    }
  }
  template <class Channel, class V = detail::value_of<Channel>, class F = detail::nothing>
    requires(!detail::sends_signals<Channel>)
  std::size_t add_send(const Channel& channel, V&& value, F f = {}) {
    detail::check_send<Channel, V>();
    detail::check_function_of_case<F>();
    if constexpr (detail::sends<Channel, V> && std::is_invocable_v<F&>) {
      using type = detail::value_of<Channel>;
      return add(std::make_unique<send_entry<type, F>>(
          channel.ref(), static_cast<type>(std::forward<V>(value)), std::move(f)));
    } else {
      return 0;
    }
  }
  template <class Channel, class F = detail::nothing>
    requires detail::sends_signals<Channel>
  std::size_t add_send(const Channel& channel, F f = {}) {
    detail::check_function_of_case<F>();
    if constexpr (std::is_invocable_v<F&>) {
      return add(std::make_unique<send_entry<void, F>>(channel.ref(), char{}, std::move(f)));
    } else {
      return 0;
    }
  }
  // Refused.
  template <class Channel>
    requires(!detail::sends_signals<Channel>)
  std::size_t add_send(const Channel&) {
    detail::check_send_without_value<Channel>();
    return 0;
  }
  // Counted anew from each wait(). try_wait() never chooses it.
  template <class F = detail::nothing>
  std::size_t add_timeout(time_span d, F f = {}) {
    detail::check_function_of_case<F>();
    if constexpr (std::is_invocable_v<F&>) {
      return add(std::make_unique<timeout_entry<F>>(d, std::move(f)));
    } else {
      return 0;
    }
  }

  // A case as select() takes it that is made from an object, as os::on_ready() is: the object must
  // outlive the set.
  template <class Case>
    requires detail::alarm_case<Case>
  std::size_t add(Case c) {
    has_alarms_ = true;
    return add(std::make_unique<alarm_entry<Case>>(std::move(c)));
  }

  // As select(). With no case at all it parks for ever.
  std::size_t wait() { return *choose(true); }
  // As select() with otherwise(): nullopt when no case is ready.
  std::optional<std::size_t> try_wait() { return choose(false); }

 private:
  struct entry {
    virtual ~entry() = default;
    // Fills in a channel case and returns true, or the delay of a timeout and returns false.
    virtual bool prepare(detail::select_case& erased, std::int64_t& delay_ns) = 0;
    virtual void run(bool received) = 0;
    // As an alarm_case has them.
    virtual bool confirm() { return true; }
    virtual void end() noexcept {}
  };

  template <class T, class F>
  struct receive_entry final : entry {
    receive_entry(const detail::chan_ref& channel, F f) : body(channel, std::move(f)) {}
    bool prepare(detail::select_case& erased, std::int64_t&) override {
      erased = body.erased();
      return true;
    }
    void run(bool received) override { body.run(received); }
    detail::receive_case<T, F, detail::chan_ref> body;
  };

  template <class T, class F>
  struct send_entry final : entry {
    send_entry(const detail::chan_ref& c, detail::element<T> v, F f)
        : channel(c), value(std::move(v)), function(std::move(f)) {}
    bool prepare(detail::select_case& erased, std::int64_t&) override {
      if constexpr (std::is_copy_constructible_v<detail::element<T>>) {
        sent.emplace(value);
        erased = {channel.core(), &*sent, detail::case_kind::send, false};
      } else {
        erased = {channel.core(), &value, detail::case_kind::send, false};
      }
      return true;
    }
    void run(bool) override { std::invoke(function); }
    detail::chan_ref channel;
    detail::element<T> value;
    std::optional<detail::element<T>> sent;
    F function;
  };

  template <class F>
  struct timeout_entry final : entry {
    timeout_entry(time_span d, F f) : body(d, std::move(f)) {}
    bool prepare(detail::select_case&, std::int64_t& delay_ns) override {
      delay_ns = body.delay_ns();
      return false;
    }
    void run(bool) override { body.run(false); }
    detail::timeout_case<F> body;
  };

  template <class Case>
  struct alarm_entry final : entry {
    explicit alarm_entry(Case c) : body(std::move(c)) {}
    bool prepare(detail::select_case& erased, std::int64_t&) override {
      erased = body.erased();
      return true;
    }
    void run(bool received) override { body.run(received); }
    bool confirm() override { return body.confirm(); }
    void end() noexcept override { body.end(); }
    Case body;
  };

  SLEY_API std::size_t add(std::unique_ptr<entry> e);
  SLEY_API std::optional<std::size_t> choose(bool may_park);
  std::int64_t prepare_all(bool may_park);
  std::optional<std::size_t> choose_one(std::int64_t deadline_ns, bool& received);

  std::vector<std::unique_ptr<entry>> entries_;
  bool has_alarms_ = false;
  // Filled by choose(); members so that waiting again allocates nothing.
  std::vector<detail::select_case> cases_;
  std::vector<std::size_t> index_of_;
  std::vector<std::size_t> timeouts_;
  std::vector<std::byte> scratch_;
};

}  // namespace sley
