// What the cases of a select are made of: the parts behind <sley/select.hpp>.
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
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sley::detail {

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

// One case is the default, and the others are on channels. Then a look at each channel tells if the
// default is chosen, and nothing has to be lined up for the erased call.
template <class... Cases>
inline constexpr bool is_look_enough =
    (is_default_case<Cases> || ...) && !(alarm_case<Cases> || ...) &&
    ((Cases::is_channel_case || is_default_case<Cases>) && ...);

template <class... Cases>
constexpr std::size_t default_index() noexcept {
  std::size_t index = 0;
  (void)((is_default_case<Cases> || (++index, false)) || ...);
  return index;
}

// The default case stands back.
template <class Case>
bool would_wait(Case& c) noexcept {
  if constexpr (Case::is_channel_case) return would_block(c.erased());
  return true;
}

// Returns the index of the case that was chosen.
template <class... Cases>
std::size_t run_chosen(std::size_t chosen, bool received, Cases&... cases) {
  std::size_t index = 0;
  (void)((index++ == chosen ? (cases.run(received), true) : false) || ...);
  return chosen;
}

// A select of at least one case. Returns the index of the case that was chosen.
template <class... Cases>
std::size_t choose_and_run(Cases&... cases) {
  if constexpr (is_look_enough<Cases...>) {
    if ((would_wait(cases) && ...)) return run_chosen(default_index<Cases...>(), false, cases...);
  }
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
  return run_chosen(choice.first, choice.second, cases...);
}

}  // namespace sley::detail
