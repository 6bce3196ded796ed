// Goroutines: starting them, and what a goroutine can ask of itself.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/spawn.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sley {

// How a goroutine is started.
struct go_options {
  std::string_view name = {};  // shown in dumps; 31 bytes are kept, and no part of a character
  std::size_t stack_size = 0;  // bytes of address space for the stack; 0: the default reservation
};

// Starts a goroutine that calls f(args...), all decay-copied as std::thread does. Never parks or
// blocks; any thread may call it (the first use boots the runtime). Throws std::bad_alloc when
// there is no memory for the goroutine's record, std::logic_error for a null function, and what
// copying throws; nothing is started then. An exception that leaves f ends the process with a
// report, as an uncaught panic does in Go. From Go's `go` statement (runtime.newproc).
template <class F, class... Args>
  requires(!std::is_same_v<std::remove_cvref_t<F>, go_options>)
SLEY_ALWAYS_INLINE void go(F&& f, Args&&... args) {
  detail::spawn_call(nullptr, std::forward<F>(f), std::forward<Args>(args)...);
}

// The same with a name or a stack size of its own. A stack_size is rounded up to whole pages and to
// at least 16 KiB; std::length_error if it is absurd (over 64 GiB).
template <class F, class... Args>
SLEY_ALWAYS_INLINE void go(const go_options& options, F&& f, Args&&... args) {
  detail::spawn_call(&options, std::forward<F>(f), std::forward<Args>(args)...);
}

// How the main goroutine is started.
struct run_options {
  bool on_this_thread = false;  // the main goroutine runs on the calling thread and is locked to it
};

namespace detail {

// Runs the task on the main goroutine; returns when it has returned. Throws the exception that left
// it.
SLEY_API void run_main(const run_options& options, const task_type& type, void* callable);

// Whether it can be called without arguments, and returns what run() can.
template <class F>
concept main_function =
    std::is_invocable_v<F&> && (std::is_void_v<std::invoke_result_t<F&>> ||
                                std::is_convertible_v<std::invoke_result_t<F&>, int>);

}  // namespace detail

// Runs f as the main goroutine (id 1) and waits for it: the calling thread blocks,
// it does not become a goroutine. f returns void (run returns 0) or int. An exception out of f
// comes out of run if a function that has called run catches it. If none does, the process ends as
// by an exception that leaves any other goroutine, with the stack of the throw in the report. f has
// a stack as main() has it: RLIMIT_STACK, 8 MiB by default, of address space. When run returns,
// nothing is scheduled any more until the next run or the next use from a foreign thread: other
// goroutines stay where they are. From a goroutine: std::logic_error. With
// run_options::on_this_thread the main goroutine is the calling thread, as if locked to it
// (lock_os_thread), which is what graphical toolkits want of main().
template <class F>
int run(const run_options& options, F&& f) {
  static_assert(
      std::is_invocable_v<F&>,
      "sley::run: the main goroutine's function has no arguments: write run([&] { f(x); })");
  static_assert(!std::is_invocable_v<F&> || detail::main_function<F>,
                "sley::run: the main goroutine returns void or int");
  int status = 0;
  if constexpr (detail::main_function<F>) {
    auto main_goroutine = [&] {
      if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        std::invoke(f);
      } else {
        status = std::invoke(f);
      }
    };
    detail::run_main(options, detail::task_type_of<decltype(main_goroutine)>, &main_goroutine);
  }
  return status;
}

// The same without options.
template <class F>
int run(F&& f) {
  return run(run_options{}, std::forward<F>(f));
}

namespace this_goroutine {

// The goroutine's number, never reused; the main goroutine is 1. 0 on a foreign thread.
SLEY_API std::uint64_t id() noexcept;

// Its name, empty if it has none. The view is valid until set_name or the goroutine's end.
SLEY_API std::string_view name() noexcept;

// Copies the first 31 bytes of the name, and no part of a character. On a foreign thread:
// std::logic_error.
SLEY_API void set_name(std::string_view name);

// Lets the goroutines run that wait, and goes on after them (Go's runtime.Gosched). With one
// processor it goes on after the goroutines that they start, too, as in Go. On a foreign thread:
// sched_yield(2).
SLEY_API void yield();

// Parks for at least d (returns at once if d <= 0), on std::chrono::steady_clock. The largest
// duration of any unit, and all that is too long to represent, sleeps for ever. On a foreign thread
// the thread blocks. Throws std::bad_alloc without memory for a timer. From Go's time.Sleep.
SLEY_API void sleep_for(time_span d);
// The same until that time, of any clock; if that is another than steady_clock, it is looked at
// again when it should have come. time_point::max() of any clock is for ever.
SLEY_API void sleep_until(instant t);
template <class Clock, class Duration>
  requires(!std::is_same_v<Clock, std::chrono::steady_clock>)
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
  detail::wait_until_time(t, [](std::int64_t deadline_ns) {
    sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
    return false;
  });
}

// Ends this goroutine as Go's runtime.Goexit does: the stack is unwound, destructors run, and other
// goroutines go on. The unwinding is that of pthread_exit: a catch (...) on the way must rethrow,
// and no noexcept function may be left by it. The main goroutine may do so too; run then never
// returns. On a foreign thread: std::logic_error.
[[noreturn]] SLEY_API void exit();

// From now on this goroutine runs on this thread and no other goroutine does, until
// unlock_os_thread has been called as often. A goroutine that ends while locked takes its thread
// with it. For state that belongs to a thread: graphics contexts, signal masks, namespaces. Each
// wait of a locked goroutine is a wait of its thread. On a foreign thread: nothing, because that is
// the case already. unlock without lock: nothing. Neither parks. From Go's runtime.LockOSThread.
SLEY_API void lock_os_thread();
SLEY_API void unlock_os_thread();

}  // namespace this_goroutine

// Locks the calling goroutine to its thread while it lives.
class os_thread_lock {
 public:
  os_thread_lock() { this_goroutine::lock_os_thread(); }
  ~os_thread_lock() { this_goroutine::unlock_os_thread(); }
  os_thread_lock(const os_thread_lock&) = delete;
  os_thread_lock& operator=(const os_thread_lock&) = delete;
};

}  // namespace sley

#include <sley/future.hpp>  // async, the other way to start a goroutine
