// A server of connections: takes them until a context ends, with a goroutine for each.
//
//   auto listener = sley::net::tcp_listener::listen(":7777");
//   sley::net::serve(listener, ctx, [](sley::net::tcp_stream stream, const sley::context& ctx) {
//     ...
//   });
#pragma once

#include <sley/context.hpp>
#include <sley/detail/accepting.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/spawn.hpp>
#include <sley/go.hpp>
#include <sley/mutex.hpp>
#include <sley/net.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley::net {

// Limits and hooks of serve().
struct serve_options {
  // At once, at least 1; further ones wait in the listener's queue (listen_options::backlog).
  std::size_t connections = 100'000;
  // How long the streams of open connections go on when the context has ended. Zero: they end with
  // it. The largest duration of any unit: for as long as the handlers take.
  time_span grace = std::chrono::seconds(0);
  // For the handshake of TLS, before the handler is called; without it the connection is dropped
  // without a word. The largest duration of any unit: no limit.
  time_span handshake_timeout = std::chrono::seconds(10);
  // An exception has left a handler; its connection is closed, and the others go on. Called by the
  // connection's goroutine, by many at once. It must not throw. Default: one line of the library's
  // log, on stderr unless it is set.
  std::function<void(std::exception_ptr)> on_error = {};
  // Of the goroutines, in dumps. The first 31 bytes are kept.
  std::string_view name = "connection";
};

// How it ended.
struct serve_result {
  // The context's error; or why accepting failed: std::errc::operation_canceled if the listener was
  // closed. Never empty.
  std::error_code reason;
  std::uint64_t accepted = 0;  // connections
  std::uint64_t failed = 0;    // of these, connections whose handler threw
  std::uint64_t cut = 0;       // of these, connections that were open when the grace was over
};

}  // namespace sley::net

namespace sley::detail {

// The connections of one serve(). Its end waits for their goroutines.
class SLEY_API serving {
 public:
  serving(const context& ctx, const net::serve_options& options);
  serving(const serving&) = delete;
  serving& operator=(const serving&) = delete;
  ~serving();

  const places_ptr& places() const noexcept { return places_; }

  // Calls work(stream, ctx) in a goroutine. Without memory for one the connection is closed; later
  // there may be memory again.
  template <class Stream, class Work>
  void start(Stream stream, place taken, const Work& work) {
    begin();
    try {
      go(go_options{.name = options_.name},
         [this, &work, s = std::move(stream), p = std::move(taken)]() mutable {
           const ending last(*this);
           const place held = std::move(p);
           Stream own = std::move(s);
           try {
             own.set_context(streams_);
             work(own, handlers_);
           } catch (...) {
             const std::exception_ptr e = std::current_exception();
             if (!e) throw;  // no exception, but this_goroutine::exit() unwinding the stack
             failed(e);
           }
         });
    } catch (const std::bad_alloc&) {
      end_one();
    }
  }
  // No connection comes any more.
  net::serve_result finish(std::error_code reason);

 private:
  struct ending {
    explicit ending(serving& s) noexcept : all(s) {}
    ~ending() { all.end_one(); }
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;
    serving& all;
  };

  void begin();
  void end_one() noexcept;
  void failed(const std::exception_ptr& e);
  bool is_of_the_end(const std::exception_ptr& e) const;

  const net::serve_options& options_;
  const places_ptr places_;
  context handlers_;  // ends with the caller's, and when accepting ends
  cancel_function end_handlers_;
  context streams_;  // what the streams are bound to: ends with the grace
  cancel_function end_streams_;
  wait_group running_;
  mutex lock_;
  std::uint64_t open_ = 0;    // [lock: lock_]
  net::serve_result result_;  // [lock: lock_]
};

template <class Handler, class Stream>
concept serves = std::invocable<Handler&, Stream, const context&> ||
                 std::invocable<Handler&, Stream&, const context&> ||
                 std::invocable<Handler&, Stream> || std::invocable<Handler&, Stream&>;

template <class Stream, class Handler>
void call_serving(Handler& handler, Stream& stream, const context& ctx) {
  if constexpr (std::invocable<Handler&, Stream, const context&>) {
    std::invoke(handler, std::move(stream), ctx);
  } else if constexpr (std::invocable<Handler&, Stream&, const context&>) {
    std::invoke(handler, stream, ctx);
  } else if constexpr (std::invocable<Handler&, Stream>) {
    std::invoke(handler, std::move(stream));
  } else {
    std::invoke(handler, stream);
  }
}

// True for a stream without a handshake.
template <class Stream>
bool shake_hands(Stream& stream, time_span timeout) {
  if constexpr (requires(std::error_code& e) { stream.handshake(e); }) {
    std::error_code error;
    stream.set_deadline(time_in(timeout));
    stream.handshake(error);
    if (error) return false;
    stream.set_deadline(time_point::max());
  }
  return true;
}

template <class Listener, class Handler>
net::serve_result serve_all(Listener& listener, const context& ctx, Handler& handler,
                            const net::serve_options& options) {
  using accepted = decltype(listener.accept());
  struct closing {
    Listener& what;
    ~closing() {
      std::error_code ignored;
      what.close(ignored);
    }
  };
  const auto work = [&](accepted& s, const context& with) {
    if (!shake_hands(s, options.handshake_timeout)) return;
    call_serving<accepted>(handler, s, with);
  };
  serving all(ctx, options);
  std::error_code reason;
  {
    const closing at_end{listener};
    listener.set_context(ctx);
    reason = accept_each(listener, ctx, all.places(), [&](accepted s, place taken) {
      all.start(std::move(s), std::move(taken), work);
    });
  }
  return all.finish(reason);
}

}  // namespace sley::detail

namespace sley::net {

// Takes connections from a tcp_listener, unix_listener or tls_listener until the context ends, and
// calls the handler for each in a goroutine of its own: handler(stream, ctx) or handler(stream),
// with the stream by value or by reference. Parks; a foreign thread blocks.
//
// When the context ends, or the listener is closed, or accepting fails:
//   1. The context that the handlers have ends. It is made from the one that is given here.
//   2. The listener is closed.
//   3. Handlers go on for options.grace. Then the streams end (set_context): everything that a
//      handler does with its stream fails with context_errc::canceled, and the peer sees the end
//      when the handler has let go of it.
//   4. It waits for the last handler, however long that takes, and returns: so handlers may use by
//      reference all that lives longer than the call. A handler that looks neither at its context
//      nor at its stream delays the return.
//
// Shortage of descriptors or memory ends nothing: accept() tries again after a while. An exception
// that leaves a handler goes to options.on_error; the error of a stream that ends as described here
// is none. Throws std::bad_alloc, when it has done all of the above, and std::logic_error at once
// for a handler that is null. Any goroutine or thread. From the loop in Go's http.Server.Serve,
// with Shutdown.
template <class Listener, class Handler>
serve_result serve(Listener&& listener, const context& ctx, Handler handler,
                   const serve_options& options = {}) {
  constexpr bool is_const = std::is_const_v<std::remove_reference_t<Listener>>;
  constexpr bool takes_it = detail::serves<Handler, decltype(listener.accept())>;
  static_assert(!is_const, "sley::net::serve: a const listener cannot be closed at the end");
  static_assert(takes_it,
                "sley::net::serve: the handler cannot be called with a stream of this listener and "
                "a const sley::context&, nor with the stream alone");
  if constexpr (is_const || !takes_it) {
    return {};
  } else {
    detail::check_not_null<Handler>(handler);
    return detail::serve_all(listener, ctx, handler, options);
  }
}

}  // namespace sley::net
