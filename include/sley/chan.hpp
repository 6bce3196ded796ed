// Channels: typed pipes between goroutines, with Go's meaning.
#pragma once

#include <sley/detail/chan_core.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/refused.hpp>
#include <sley/time_span.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {

// Thrown by a send on a closed channel and by closing a closed or nil channel (what Go panics on).
class SLEY_API channel_closed : public std::logic_error {
 public:
  // what() returns a copy of the text.
  explicit channel_closed(const char* what) : std::logic_error(what) {}
  ~channel_closed() override;
};

template <class T>
class send_chan;
template <class T>
class recv_chan;

namespace detail {

// What stands for T where void cannot: chan<void> moves no bytes. A T that is refused has a
// stand-in as well, so that the compiler says no more than that.
template <class T>
using element = std::conditional_t<std::is_void_v<T>, char, std::remove_cvref_t<T>>;

// What receive() returns.
template <class T>
using received = std::conditional_t<std::is_void_v<T>, bool, std::optional<element<T>>>;

// Room for one value that a receive may fill.
template <class T>
union receive_slot {
  receive_slot() noexcept {}
  ~receive_slot() {}
  T value;

  // The value that was received, moved out; its place is uninitialised again.
  std::optional<T> take() noexcept {
    std::optional<T> result(std::move(value));
    value.~T();
    return result;
  }
};

// Receives until the channel is closed and drained; a single-pass input iterator.
template <class T, class Channel>
class chan_iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  explicit chan_iterator(const Channel& channel)
      : channel_(&channel), current_(channel.receive()) {}
  T& operator*() const noexcept { return *current_; }
  chan_iterator& operator++() {
    current_.reset();  // and not an assignment, which T need not have
    if (auto received = channel_->receive()) current_.emplace(std::move(*received));
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const chan_iterator& i, std::default_sentinel_t) noexcept {
    return !i.current_.has_value();
  }

 private:
  const Channel* channel_;
  mutable std::optional<T> current_;
};

// What every kind of handle has.
class chan_handle {
 public:
  // Values buffered now, 0 for the nil channel. A moment's figure when others use the channel.
  std::size_t size() const noexcept { return ref_.size(); }
  // Room of the buffer; 0 if unbuffered or nil.
  std::size_t capacity() const noexcept { return ref_.capacity(); }
  // Whether it has been closed; values may still be buffered.
  bool closed() const noexcept { return ref_.closed(); }
  // False for the nil channel.
  explicit operator bool() const noexcept { return ref_.core() != nullptr; }
  // Whether both name the same channel.
  friend bool operator==(const chan_handle& a, const chan_handle& b) noexcept {
    return a.ref_.core() == b.ref_.core();
  }
  friend bool operator==(const chan_handle& c, std::nullptr_t) noexcept {
    return c.ref_.core() == nullptr;
  }

  // The channel itself, for select.
  const chan_ref& ref() const& noexcept { return ref_; }
  chan_ref&& ref() && noexcept { return std::move(ref_); }

 protected:
  chan_handle() noexcept = default;
  explicit chan_handle(chan_ref ref) noexcept : ref_(std::move(ref)) {}
  ~chan_handle() = default;
  chan_handle(const chan_handle&) noexcept = default;
  chan_handle(chan_handle&&) noexcept = default;
  chan_handle& operator=(const chan_handle&) noexcept = default;
  chan_handle& operator=(chan_handle&&) noexcept = default;

  chan_ref ref_;
};

// What every kind of handle has of a channel of T.
template <class T>
class handle_of : public chan_handle {
  static_assert(!std::is_reference_v<T>,
                "sley::chan<T>: T is a reference: let the channel carry pointers");
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                "sley::chan<T>: T is const or volatile: a channel's values are moved");

 protected:
  using chan_handle::chan_handle;
};

// The sending operations, over a handle.
template <class T, class Handle>
class sending : public Handle {
  static_assert(std::is_void_v<T> || std::is_nothrow_move_constructible_v<element<T>>,
                "sley::chan<T>: T must be nothrow move constructible");
  static constexpr bool carries_values = !std::is_void_v<T>;

 public:
  // Parks until a receiver or the buffer takes the value. Throws channel_closed if the channel is
  // closed, also when that happens while it is parked; the value is lost then.
  void send(element<T> value) const
    requires(carries_values && std::is_copy_constructible_v<element<T>>)
  {
    this->ref_.send(&value);
  }
  // The same for what is moved only, so that a copy is refused below.
  template <class Type = T>
    requires(carries_values && !std::is_copy_constructible_v<element<Type>>)
  void send(element<T>&& value) const {
    element<T> own(std::move(value));
    this->ref_.send(&own);
  }
  void send() const
    requires(!carries_values)
  {
    this->ref_.send(nullptr);
  }
  // Refused.
  template <class Type = T>
    requires carries_values
  void send() const {
    static_assert(std::is_void_v<Type>, "sley: a send needs a value, except over a chan<void>");
  }
  template <class V>
    requires(carries_values && !std::is_convertible_v<V, element<T>>)
  void send(V&&) const {
    constexpr bool is_value = std::is_same_v<std::remove_cvref_t<V>, element<T>>;
    static_assert(!is_value,
                  "sley: the value cannot be copied into the channel: pass std::move(x)");
    static_assert(is_value || std::is_convertible_v<V, element<T>>,
                  "sley: the value does not convert to what the channel carries");
  }
  template <class V>
    requires(!carries_values)
  void send(const V&) const {
    static_assert(std::is_same_v<V, context>,
                  "sley: a chan<void> carries signals, not values: send() takes none");
  }

  // Given up when the context ends, with its error; the value was not sent then. What is moved in
  // is untouched unless it was sent. The forms without `error` throw std::system_error.
  // channel_closed as above.
  void send(element<T>&& value, const context& ctx) const
    requires carries_values
  {
    throwing([&](std::error_code& error) { this->ref_.send(&value, ctx, error); });
  }
  void send(element<T>&& value, const context& ctx, std::error_code& error) const
    requires carries_values
  {
    this->ref_.send(&value, ctx, error);
  }
  void send(const element<T>& value, const context& ctx) const
    requires(carries_values && std::is_copy_constructible_v<element<T>>)
  {
    send(element<T>(value), ctx);
  }
  void send(const element<T>& value, const context& ctx, std::error_code& error) const
    requires(carries_values && std::is_copy_constructible_v<element<T>>)
  {
    send(element<T>(value), ctx, error);
  }
  void send(const context& ctx) const
    requires(!carries_values)
  {
    throwing([&](std::error_code& error) { this->ref_.send(nullptr, ctx, error); });
  }
  void send(const context& ctx, std::error_code& error) const
    requires(!carries_values)
  {
    this->ref_.send(nullptr, ctx, error);
  }

  // Never parks. ok | would_block | closed; the value is untouched unless ok.
  chan_status try_send(element<T>& value) const
    requires carries_values
  {
    return this->ref_.try_send(&value);
  }
  chan_status try_send(element<T>&& value) const
    requires carries_values
  {
    return this->ref_.try_send(&value);
  }
  chan_status try_send() const
    requires(!carries_values)
  {
    return this->ref_.try_send(nullptr);
  }

  // Parks for at most d. ok | closed | timeout; the value is untouched unless ok.
  chan_status try_send_for(element<T>& value, time_span d) const
    requires carries_values
  {
    return this->ref_.send_until(&value, deadline_in(d));
  }
  chan_status try_send_for(element<T>&& value, time_span d) const
    requires carries_values
  {
    return this->ref_.send_until(&value, deadline_in(d));
  }
  chan_status try_send_for(time_span d) const
    requires(!carries_values)
  {
    return this->ref_.send_until(nullptr, deadline_in(d));
  }

  // No more values will come. Wakes every waiting receiver (they get what is buffered, then
  // nothing) and every waiting sender (they throw). Throws channel_closed if closed already or nil.
  void close() const { this->ref_.close(); }

 protected:
  using Handle::Handle;

 private:
  template <class Send>
  static void throwing(const Send& send) {
    std::error_code error;
    send(error);
    if (error) throw std::system_error(error, "sley: send to a channel");
  }
};

// The receiving operations, over a handle.
template <class T, class Handle>
class receiving : public Handle {
  static constexpr bool carries_values = !std::is_void_v<T>;

 public:
  // Parks until a value comes. nullopt (false for chan<void>) once closed and drained.
  received<T> receive() const {
    if constexpr (!carries_values) {
      return this->ref_.receive(nullptr);
    } else {
      receive_slot<element<T>> slot;
      if (!this->ref_.receive(&slot.value)) return std::nullopt;
      return slot.take();
    }
  }

  // Given up when the context ends, with its error; no value was taken then. The form without
  // `error` throws std::system_error.
  received<T> receive(const context& ctx) const {
    std::error_code error;
    received<T> result = receive(ctx, error);
    if (error) throw std::system_error(error, "sley: receive from a channel");
    return result;
  }
  received<T> receive(const context& ctx, std::error_code& error) const {
    if constexpr (!carries_values) {
      return this->ref_.receive(nullptr, ctx, error);
    } else {
      receive_slot<element<T>> slot;
      if (!this->ref_.receive(&slot.value, ctx, error)) return std::nullopt;
      return slot.take();
    }
  }

  // Never parks. ok | would_block | closed; `out` is assigned only if ok.
  chan_status try_receive(element<T>& out) const
    requires carries_values
  {
    return receive_into(out, [this](void* to) { return this->ref_.try_receive(to); });
  }
  chan_status try_receive() const
    requires(!carries_values)
  {
    return this->ref_.try_receive(nullptr);
  }

  // Parks for at most d. ok | closed | timeout; `out` is assigned only if ok.
  chan_status try_receive_for(element<T>& out, time_span d) const
    requires carries_values
  {
    return receive_into(
        out, [this, d](void* to) { return this->ref_.receive_until(to, deadline_in(d)); });
  }
  chan_status try_receive_for(time_span d) const
    requires(!carries_values)
  {
    return this->ref_.receive_until(nullptr, deadline_in(d));
  }

  // for (T& value : channel) receives until the channel is closed and drained.
  auto begin() const
    requires carries_values
  {
    return chan_iterator<element<T>, receiving>(*this);
  }
  std::default_sentinel_t end() const noexcept
    requires carries_values
  {
    return {};
  }

 protected:
  using Handle::Handle;

 private:
  template <class Receive>
  chan_status receive_into(element<T>& out, Receive receive) const {
    receive_slot<element<T>> slot;
    const chan_status status = receive(&slot.value);
    if (status == chan_status::ok) out = std::move(*slot.take());
    return status;
  }
};

// The views refuse what they lack.
template <class T>
using only_sends = not_receiving<handle_of<T>, received<T>, element<T>>;
template <class T>
using only_receives = not_sending<handle_of<T>>;

std::size_t checked_capacity(auto capacity) {
  if constexpr (std::is_signed_v<decltype(capacity)>) {
    if (capacity < 0) throw std::length_error("sley::chan: negative capacity");
  }
  return static_cast<std::size_t>(capacity);
}

class timer_ref;

}  // namespace detail

// The sending view of a channel. As for all three kinds of handle: the operations are const,
// because a handle only names a channel; goroutines and foreign threads may call them at any time;
// where one parks the goroutine it blocks a foreign thread; send and receive on the nil channel
// never return. From Go's channel types.
template <class T>
class send_chan : public detail::sending<T, detail::only_sends<T>> {
 public:
  using value_type = T;

  send_chan(std::nullptr_t = nullptr) noexcept {}  // the nil channel

 private:
  template <class>
  friend class chan;
  using detail::sending<T, detail::only_sends<T>>::sending;
};

// The receiving view of a channel.
template <class T>
class recv_chan : public detail::receiving<T, detail::only_receives<T>> {
 public:
  using value_type = T;

  recv_chan(std::nullptr_t = nullptr) noexcept {}  // the nil channel

 private:
  template <class>
  friend class chan;
  friend class detail::timer_ref;
  using detail::receiving<T, detail::only_receives<T>>::receiving;
};

// A channel of T. T is nothrow move constructible and may be move-only; chan<void> carries bare
// signals. Copies name the same channel; the last handle frees it with what is still buffered.
template <class T>
class chan : public detail::receiving<T, detail::sending<T, detail::handle_of<T>>> {
  using base = detail::receiving<T, detail::sending<T, detail::handle_of<T>>>;

 public:
  using value_type = T;

  chan() : chan(std::size_t{0}) {}
  // Unbuffered if capacity is 0. Throws std::length_error for a negative or absurd capacity before
  // anything is allocated, std::bad_alloc when there is no memory.
  explicit chan(std::size_t capacity)
      : base(detail::chan_ref(detail::element_type_of<std::remove_cvref_t<T>>, capacity)) {}
  template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  explicit chan(Int capacity) : chan(detail::checked_capacity(capacity)) {}
  // The nil channel: send and receive block for ever, close throws, a select case never fires.
  chan(std::nullptr_t) noexcept {}

  // The same channel, for senders or receivers alone.
  operator send_chan<T>() const noexcept { return send_chan<T>(this->ref_); }
  operator recv_chan<T>() const noexcept { return recv_chan<T>(this->ref_); }
};

}  // namespace sley
