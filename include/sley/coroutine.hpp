// C++20 coroutines and goroutines wait for each other. In a coroutine of any kind:
//
//   std::optional<int> value = co_await numbers;      // chan, recv_chan; also co_await after(1s)
//   co_await sley::async_send(numbers, 5);
//   int result = co_await sley::async(f);             // future, shared_future
//
// In a goroutine:
//
//   int result = sley::await(some_coroutine());       // whatever a coroutine can co_await
//   int other = sley::await(some_std_future);
//
// A wait that is over at once neither suspends the coroutine nor parks. Otherwise a goroutine waits
// in the coroutine's place and then resumes it: the coroutine goes on in a goroutine of its own,
// wherever it was suspended, and may park there. An exception out of resume() is one out of that
// goroutine. For anything else that a goroutine can wait for: co_await async(f), f waits. (GCC 12
// destroys captures of a lambda in co_await's operand twice: give it a name before.)
//
// A suspended coroutine may be destroyed if it is certain not to be resumed: no other caller sends,
// receives, closes or brings a result meanwhile. The wait ends then. Otherwise, if the coroutine is
// not resumed yet, a value that has just been received for it may be lost.
#pragma once

#include <sley/chan.hpp>
#include <sley/detail/chan_core.hpp>
#include <sley/future.hpp>
#include <sley/go.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/wait_group.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {

template <class T>
class receive_awaiter;
template <class T>
class send_awaiter;
template <class Future>
class future_awaiter;

template <class A>
concept awaiter = requires(A& a, std::coroutine_handle<> h) {
  static_cast<bool>(a.await_ready());
  a.await_suspend(h);
  a.await_resume();
};

// What co_await makes of its operand.
template <class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (requires { std::forward<A>(a).operator co_await(); }) {
    return std::forward<A>(a).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<A>(a)); }) {
    return operator co_await(std::forward<A>(a));
  } else {
    return std::forward<A>(a);
  }
}

template <class A>
using awaiter_type = decltype(awaiter_of(std::declval<A>()));

template <class A>
concept awaitable = awaiter<awaiter_type<A>>;

template <class A>
inline constexpr bool is_std_future = false;
template <class R>
inline constexpr bool is_std_future<std::future<R>> = true;
template <class R>
inline constexpr bool is_std_future<std::shared_future<R>> = true;

// What await() returns: a value where co_await has an rvalue reference, whose object may be gone.
template <class A, class R = decltype(std::declval<awaiter_type<A>&>().await_resume())>
using await_result = std::conditional_t<std::is_rvalue_reference_v<R>, std::remove_cvref_t<R>, R>;

}  // namespace detail

// co_await channel: as channel.receive(), a std::optional<T>, or a bool for chan<void>. Any thread.
// std::bad_alloc without memory for a goroutine, as for all of these.
template <class T>
auto operator co_await(const chan<T>& channel) noexcept {
  return detail::receive_awaiter<T>(channel);
}
template <class T>
auto operator co_await(const recv_chan<T>& channel) noexcept {
  return detail::receive_awaiter<T>(channel);
}

// Refused: a channel can only be received from in this way.
template <class T>
auto operator co_await(const send_chan<T>&) noexcept {
  static_assert(!std::is_same_v<T, T>,
                "sley: co_await of a channel receives, and a send_chan cannot: co_await "
                "async_send(channel, value)");
  return std::suspend_never();
}

// co_await async_send(channel, value): as channel.send(value), with the value converted to the
// channel's type; async_send(channel) for chan<void>. Throws channel_closed, also when the channel
// is closed meanwhile. Nothing is sent before co_await, which is for once. Any thread.
template <class Channel, class V>
[[nodiscard]] auto async_send(const Channel& channel, V&& value) {
  detail::check_send<Channel, V>();
  if constexpr (detail::sends<Channel, V>) {
    using type = detail::value_of<Channel>;
    return detail::send_awaiter<type>(channel, static_cast<type>(std::forward<V>(value)));
  } else {
    return std::suspend_never();
  }
}
template <class Channel>
[[nodiscard]] auto async_send(const Channel& channel) {
  detail::check_send_without_value<Channel>();
  if constexpr (detail::sends_signals<Channel>) {
    return detail::send_awaiter<void>(channel, char{});
  } else {
    return std::suspend_never();
  }
}

// co_await future: as future.get(), which empties a future, also if the coroutine is destroyed
// while it waits. The goroutine that waits ends with the result's coming. Any thread.
template <class R>
auto operator co_await(future<R>& f) noexcept {
  return detail::future_awaiter<future<R>>(std::move(f));
}
template <class R>
auto operator co_await(future<R>&& f) noexcept {
  return detail::future_awaiter<future<R>>(std::move(f));
}
template <class R>
auto operator co_await(const shared_future<R>& f) noexcept {
  return detail::future_awaiter<shared_future<R>>(f);
}

// Starts the awaitable as co_await does, on the calling goroutine, which parks until it has ended;
// a foreign thread blocks. It may be resumed on any thread, and end there. Returns or throws what
// co_await would; an rvalue reference is returned as a value.
template <detail::awaitable A>
detail::await_result<A> await(A&& awaitable);

// Refused.
template <class A>
  requires(!detail::awaitable<A> && !detail::is_std_future<std::remove_cvref_t<A>>)
decltype(auto) await(A&& other) {
  static_assert(detail::awaitable<A>, "sley::await: no coroutine can co_await this");
  return std::forward<A>(other);
}

// Waits for a future of the standard library, and returns or throws what its get() does. It knows
// no goroutines, so this is a call that blocks the thread, announced with blocking(): other
// goroutines go on. A deferred function runs at once, in this goroutine. Any thread.
// std::future_error{no_state} if there is no result to wait for.
template <class R>
R await(std::future<R>& f);
template <class R>
R await(std::future<R>&& f);
template <class R>
decltype(auto) await(const std::shared_future<R>& f);

// ------------------------------------------------------------------------------------------------

namespace detail {

// A coroutine's wait, in its frame. Either the goroutine that waits in its place or the end of the
// frame comes first: its signal gets into the channel, which has room for one. So after its own
// signal the goroutine may use the frame, and the frame's signal wakes the goroutine.
class suspension {
 public:
  suspension() noexcept = default;
  ~suspension() {
    if (decided_) static_cast<void>(decided_.try_send());
  }
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;

  // The last thing in await_suspend: the frame may be gone when it returns. In the goroutine,
  // wait(decided) returns whether the frame is the goroutine's to use, and the coroutine to be
  // resumed.
  template <class Wait>
  void start(std::coroutine_handle<> coroutine, Wait wait) {
    chan<void> decided(1);
    decided_ = decided;
    go([coroutine, decided, wait = std::move(wait)]() mutable {
      // What it holds goes first: the channel too may be waiting for its last handle to go.
      if (Wait(std::move(wait))(std::exchange(decided, nullptr))) coroutine.resume();
    });
  }

 private:
  chan<void> decided_{nullptr};
};

inline bool comes_first(const chan<void>& decided) { return decided.try_send() == chan_status::ok; }

// Waits for a channel, unless the frame ends first: a value that is sent after that is for another
// receiver, so a late goroutine must not take it. True: the caller may use the frame.
inline bool wait_for(select_case& operation, const chan<void>& decided) {
  select_case cases[] = {{decided.ref().core(), nullptr, case_kind::receive, false}, operation};
  alignas(std::max_align_t) std::byte scratch[select_scratch_bytes(std::size(cases))];
  const std::size_t chosen = select_in_order(cases, std::size(cases), scratch);
  operation.received = cases[1].received;
  return chosen == 1 && comes_first(decided);
}

template <class T>
void store_received(received<T>& to, receive_slot<element<T>>& from) noexcept {
  if constexpr (std::is_void_v<T>) {
    to = true;
  } else {
    to.emplace(std::move(*from.take()));  // and not an assignment, which T need not have
  }
}

template <class T>
class receive_awaiter {
 public:
  explicit receive_awaiter(recv_chan<T> channel) noexcept : channel_(std::move(channel)) {}

  bool await_ready() noexcept {
    receive_slot<element<T>> slot;
    const chan_status status = channel_.ref().try_receive(&slot.value);
    if (status == chan_status::ok) store_received<T>(result_, slot);
    return status != chan_status::would_block;
  }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspension_.start(coroutine, [this, from = channel_](const chan<void>& decided) {
      receive_slot<element<T>> slot;
      select_case receive{from.ref().core(), &slot.value, case_kind::receive, false};
      const bool is_ours = wait_for(receive, decided);
      if (receive.received) {
        received<T> unwanted{};
        store_received<T>(is_ours ? result_ : unwanted, slot);
      }
      return is_ours;
    });
  }
  received<T> await_resume() noexcept { return std::move(result_); }

 private:
  recv_chan<T> channel_;
  received<T> result_{};
  suspension suspension_;
};

template <class T>
class send_awaiter {
 public:
  send_awaiter(send_chan<T> channel, element<T> value) noexcept
      : channel_(std::move(channel)), value_(std::move(value)) {}

  bool await_ready() noexcept {
    const chan_status status = channel_.ref().try_send(&value_);
    is_closed_ = status == chan_status::closed;
    return status != chan_status::would_block;
  }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspension_.start(coroutine, [this, to = channel_,
                                  value = std::move(value_)](const chan<void>& decided) mutable {
      select_case send{to.ref().core(), &value, case_kind::send, false};
      const bool is_ours = wait_for(send, decided);
      if (is_ours) is_closed_ = !send.received;
      return is_ours;
    });
  }
  void await_resume() const {
    if (is_closed_) throw channel_closed("sley: send on closed channel");
  }

 private:
  send_chan<T> channel_;
  element<T> value_;
  bool is_closed_ = false;
  suspension suspension_;
};

template <class Future>
class future_awaiter {
 public:
  explicit future_awaiter(Future f) noexcept : future_(std::move(f)) {}

  bool await_ready() const { return future_.is_ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspension_.start(coroutine,
                      [state = future_access::state_of(future_)](const chan<void>& decided) {
                        state->done.wait();
                        return comes_first(decided);
                      });
  }
  decltype(auto) await_resume() { return future_.get(); }

 private:
  Future future_;
  suspension suspension_;
};

// The result of an await(), in the frame of its coroutine.
template <class R>
struct await_outcome {
  using stored = typename future_state<R>::stored;

  void return_value(R result) {
    if constexpr (std::is_reference_v<R>) {
      value.emplace(&result);
    } else {
      value.emplace(std::move(result));
    }
  }
  R take() {
    if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(**value);
    } else {
      return std::move(*value);
    }
  }

  std::optional<stored> value;
};
template <>
struct await_outcome<void> {
  void return_void() const noexcept {}
  void take() const noexcept {}
};

// The coroutine in which await() awaits, and which it owns.
template <class R>
class await_coroutine {
 public:
  class promise_type : public await_outcome<R> {
   public:
    promise_type() { ended_.add(1); }

    await_coroutine get_return_object() noexcept {
      return await_coroutine(handle::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept { return last_awaiter(); }
    void unhandled_exception() {
      error_ = std::current_exception();
      if (!error_) throw;  // no exception, but exit() unwinding the stack
    }

    R result() {
      ended_.wait();
      if (error_) std::rethrow_exception(error_);
      return this->take();
    }

   private:
    friend await_coroutine;

    wait_group ended_;
    std::exception_ptr error_;
  };

  ~await_coroutine() { handle_.destroy(); }
  await_coroutine(const await_coroutine&) = delete;
  await_coroutine& operator=(const await_coroutine&) = delete;

  R run() {
    handle_.resume();
    return handle_.promise().result();
  }

 private:
  using handle = std::coroutine_handle<promise_type>;

  // The frame may be gone once done() is called, and is left alone after.
  struct last_awaiter : std::suspend_always {
    void await_suspend(handle h) const noexcept { h.promise().ended_.done(); }
  };

  explicit await_coroutine(handle h) noexcept : handle_(h) {}

  handle handle_;
};

template <class R, class A>
await_coroutine<R> await_in_coroutine(A&& awaitable) {
  auto&& awaiter = awaiter_of(std::forward<A>(awaitable));  // GCC 12 would move one that is given
  co_return co_await awaiter;
}

template <class Future>
void wait_announced(const Future& f) {
  if (!f.valid()) throw std::future_error(std::future_errc::no_state);
  if (f.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
    blocking([&f] { f.wait(); });
  }
}

}  // namespace detail

template <detail::awaitable A>
detail::await_result<A> await(A&& awaitable) {
  using result = detail::await_result<A>;
  return detail::await_in_coroutine<result, A>(std::forward<A>(awaitable)).run();
}

template <class R>
R await(std::future<R>& f) {
  detail::wait_announced(f);
  return f.get();
}
template <class R>
R await(std::future<R>&& f) {
  return await(f);
}
template <class R>
decltype(auto) await(const std::shared_future<R>& f) {
  detail::wait_announced(f);
  return f.get();
}

}  // namespace sley
