// The event loop that a library of C asks for: descriptors that are watched, one timer, and
// callbacks that come one at a time. For libraries as libcurl (<sley/curl.hpp> is made of this),
// hiredis's asynchronous half, or c-ares, which docs/interoperation.md adapts.
//
//   sley::poll_loop loop([](int fd, sley::os::poll_events events) { library_ready(fd, events); },
//                        [] { library_due(); });
//   loop.run([] { library_begin(); });    // which calls back for loop.watch(), loop.set_timer()
//
// Where what runs. Callbacks run in the loop's own goroutine, run(f) calls f in the caller's, and
// all of these one after the other: so a library that is not safe for threads is never entered
// twice. A callback that parks holds up the others; one that throws ends the program, as any
// goroutine does.
//
// A loop is one goroutine and one descriptor, of epoll(7), however many descriptors are watched. No
// thread belongs to it.
#pragma once

#include <sley/context.hpp>
#include <sley/os.hpp>
#include <sley/recursive_mutex.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <utility>

namespace sley {

// See the head of this file.
class poll_loop {
 public:
  // A descriptor that is watched is ready: for a wanted event, and hang_up and failure, which are
  // told whether they are wanted or not. It is told again until the library has taken what there
  // is, as by poll(2).
  using ready_function = std::function<void(int fd, os::poll_events events)>;
  // The time of set_timer() has come.
  using timer_function = std::function<void()>;

  // Starts the goroutine. Throws std::system_error, std::bad_alloc, and std::invalid_argument for
  // empty functions.
  poll_loop(ready_function on_ready, timer_function on_timer);
  poll_loop(const poll_loop&) = delete;
  poll_loop& operator=(const poll_loop&) = delete;
  ~poll_loop() { stop(); }

  // Calls f() while no callback and no other f runs, and returns or throws what it does. Parks
  // until then. Any goroutine and any foreign thread; in a callback it calls f at once. After
  // stop() as well: a library is cleaned up so.
  template <class F>
  decltype(auto) run(F&& f) {
    const std::lock_guard guard(library_);
    return std::invoke(std::forward<F>(f));
  }

  // Watches the descriptor from now on. The wanted events replace the ones of an earlier call. The
  // descriptor stays the library's. Never parks; any thread. The first form throws
  // std::system_error: operation_not_permitted for what is always ready, as regular files.
  void watch(int fd, os::poll_events wanted);
  void watch(int fd, os::poll_events wanted, std::error_code& error) noexcept;
  // Watches it no more; nothing happens to one that is not watched. In a callback or in run(): no
  // callback for it follows. Elsewhere one may be under way. Never parks; any thread.
  //
  // To be called before the library closes the descriptor: from the close on, the next file may get
  // its number. That file may be watched at once, also in the same callback. It is told nothing of
  // the old one, because the loop takes one event at a time from the kernel. After a close without
  // forget() the kernel drops the watch, unless another descriptor of the same file is open.
  void forget(int fd) noexcept;

  // Calls on_timer once, d from now, instead of what was set before; max() of any unit: never. In a
  // callback or in run().
  void set_timer(time_span d);

  // No callback runs any more when it returns, and the goroutine has ended. Parks. Not in a
  // callback and not in run(), which it would wait for. Any number of times.
  void stop() noexcept;

 private:
  static constexpr int events_at_once = 64;  // and then the timer and stop() have their turn

  void serve();
  void call_timer();
  bool call_ready();
  static int new_epoll();
  static int change(int epoll, int operation, int fd, std::uint32_t events) noexcept;

  const ready_function on_ready_;
  const timer_function on_timer_;
  recursive_mutex library_;  // held by what calls the library
  const os::file epoll_{new_epoll()};
  timer timer_{time_span::max()};       // wakes the goroutine, which looks at due_
  time_point due_ = time_point::max();  // [lock: library_]
  const std::pair<context, cancel_function> life_ = with_cancel(context::background());
  wait_group running_;
};

}  // namespace sley

#include <sley/detail/poll_loop_definitions.hpp>
