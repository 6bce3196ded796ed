// What does not compile on purpose, with the one sentence that the compiler prints.
#pragma once

#include <sley/detail/chan_core.hpp>
#include <sley/detail/config.hpp>

namespace sley::detail {

// For a static_assert that fails when the function around it is called, and not before.
template <class...>
inline constexpr bool never = false;

// What a range-for over a channel that only sends goes on with, so that no second error follows. It
// is no iterator: the channel is no range.
template <class T>
struct no_iterator {
  T& operator*() const;
  void operator++() const;
  bool operator!=(const no_iterator&) const;
};

// The members that a handle lacks which only sends. Result is what receive() returns where there
// is one.
template <class Handle, class Result, class Value>
class not_receiving : public Handle {
 public:
  template <class... Args>
  Result receive(Args&&...) const {
    refuse<Args...>();
    return Result();
  }
  template <class... Args>
  chan_status try_receive(Args&&...) const {
    refuse<Args...>();
    return chan_status::closed;
  }
  template <class... Args>
  chan_status try_receive_for(Args&&...) const {
    refuse<Args...>();
    return chan_status::closed;
  }
  template <class Type = Value>
  no_iterator<Type> begin() const {
    refuse<Type>();
    return {};
  }
  template <class Type = Value>
  no_iterator<Type> end() const {
    return {};
  }

 protected:
  using Handle::Handle;

 private:
  template <class... Args>
  static constexpr void refuse() noexcept {
    static_assert(never<Args...>,
                  "sley: a send_chan only sends: receive from the chan, or from a recv_chan of it");
  }
};

// The members that a handle lacks which only receives.
template <class Handle>
class not_sending : public Handle {
 public:
  template <class... Args>
  void send(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  chan_status try_send(Args&&...) const {
    refuse<Args...>();
    return chan_status::closed;
  }
  template <class... Args>
  chan_status try_send_for(Args&&...) const {
    refuse<Args...>();
    return chan_status::closed;
  }
  template <class... Args>
  void close(Args&&...) const {
    refuse<Args...>();
  }

 protected:
  using Handle::Handle;

 private:
  template <class... Args>
  static constexpr void refuse() noexcept {
    static_assert(
        never<Args...>,
        "sley: a recv_chan only receives: send to or close the chan, or a send_chan of it");
  }
};

// The last parameter of a deleted copy constructor, which the compiler names.
struct goroutines_share_one_wait_group_by_reference {};
struct goroutines_share_one_mutex_by_reference {};
struct a_future_has_one_owner_use_std_move_or_share {};
struct a_timer_has_one_owner_use_std_move {};

}  // namespace sley::detail
