// select: wait for the first of several channel operations, with Go's meaning.
#pragma once

#include <sley/chan.hpp>
#include <sley/detail/chan_core.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/select_cases.hpp>
#include <sley/time_span.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace sley {

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
