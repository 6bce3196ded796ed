// System calls on watched descriptors: each is tried, and where it would block the goroutine waits
// for an event and tries again. From Go's internal/poll.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/detail/descriptor.hpp>
#include <sley/runtime.hpp>

#include "platform/call_batch.hpp"
#include "platform/system_call.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/run/call_together.hpp"
#include "runtime/run/netpoll.hpp"
#include "runtime/state/sched_state.hpp"

#include <cerrno>
#include <cstddef>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>

namespace sley::io {

// What is reported for an operation that was not to be.
std::error_code error_of(rt::io_result result) noexcept;
// `ready` while the context is live.
rt::io_result end_of(const context& ctx) noexcept;

// Clears the error, or sets that of the context: an operation looks at it first.
inline bool has_ended(std::error_code& error) noexcept {
  error.clear();
  return false;
}
inline bool has_ended(std::error_code& error, const context& ctx) noexcept {
  error = ctx.error();
  return static_cast<bool>(error);
}

inline std::error_code system_error_of(int error) noexcept {
  return {error, std::system_category()};
}

// A system call reads or writes no more than about this, and most refuse a number of bytes that
// they could not return.
inline constexpr std::size_t most_bytes_at_once = 0x7fff'0000;

// Whether a call has succeeded, by what attempt() made of it; else `error` is set.
inline bool is_success(long result, std::error_code& error) noexcept {
  if (result < 0) error = system_error_of(static_cast<int>(-result));
  return result >= 0;
}

// A call's result, or its error below 0.
template <class Call>
[[gnu::always_inline]] inline long attempt(const Call& call, int fd) {
  const long n = call(fd);
  return n >= 0 ? n : -platform::last_errno();
}

// The same for a call that may block, as those on regular files.
template <class Call>
long attempt_blocking(const Call& call, int fd) {
  return blocking([&] { return attempt(call, fd); });
}

// ... again, if a signal interrupts it: that is nothing to the caller.
template <class Call>
long attempt_uninterrupted(const Call& call, int fd) {
  long n;
  do {
    n = attempt_blocking(call, fd);
  } while (n == -EINTR);
  return n;
}

// One call in a batch: its result, or its error below 0, or `not_made`.
inline long attempt_together(const platform::batched_call& call) noexcept {
  rt::enter();
  const long n = rt::call_together(call);
  rt::leave();
  return n;
}

// Makes a call that has the form for it together with calls of other goroutines, where the program
// wants that. Else `not_made`.
template <class Call>
[[gnu::always_inline]] inline long try_together(const Call& call, int fd) {
  if constexpr (requires { call.together(fd); }) {
    if (__builtin_expect(rt::sched.batches_calls, 0)) return call.together(fd);
  }
  return platform::not_made;
}

// How an operation waits for its side, and for events: until the descriptor ends the wait.
class plain_waits {
 public:
  rt::io_result begin(rt::watched* w, rt::io_side& side) noexcept {
    rt::enter();
    const rt::io_result result = rt::begin_io(w, side);
    rt::leave();
    return result;
  }
  rt::io_result wait(rt::watched* w, rt::io_side& side) noexcept {
    rt::enter();
    const rt::io_result result = rt::wait_for_event(w, side);
    rt::leave();
    return result;
  }
};

// ... or until the context does, whose hook is made when there is something to wait for.
class context_waits {
 public:
  explicit context_waits(const context& ctx) noexcept : ctx_(ctx), can_end_(detail::can_end(ctx)) {}

  rt::io_result begin(rt::watched* w, rt::io_side& side) noexcept {
    if (can_end_ && begin_at_once(w, side)) return rt::io_result::ready;
    if (!hook_up(w, side)) return rt::io_result::no_memory;
    rt::enter();
    const rt::io_result result = rt::begin_io(w, side, self_);
    rt::leave();
    return result;
  }
  rt::io_result wait(rt::watched* w, rt::io_side& side) noexcept {
    const bool is_hooked = hook_up(w, side);
    rt::enter();
    rt::io_result result = rt::io_result::no_memory;
    if (is_hooked) {
      result = rt::wait_for_event(w, side, self_);
    } else {
      rt::end_io(w, side, false);
    }
    rt::leave();
    return result;
  }
  // `ready` while the context is live, for an operation that goes on without waiting.
  rt::io_result end() const noexcept { return end_of(ctx_); }

 private:
  // Then there may be no need of a hook.
  static bool begin_at_once(rt::watched* w, rt::io_side& side) noexcept {
    rt::enter();
    const bool has_begun = rt::try_begin_io(w, side);
    rt::leave();
    return has_begun;
  }
  // False: there is no memory for the hook.
  bool hook_up(rt::watched* w, rt::io_side& side) noexcept try {
    if (hook_ || !can_end_) return true;
    hook_.emplace(ctx_, [this, w, &side] {
      const rt::io_result why = end_of(ctx_);
      const rt::inside inside;
      rt::end_waits(w, side, self_, why);
    });
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  const context& ctx_;
  const bool can_end_;
  rt::io_waiter self_;
  std::optional<detail::on_context_end> hook_;
};

// Holds one side of a descriptor: the right to make calls on it. Parks while another goroutine
// holds it.
template <class Waits>
class side_holder {
 public:
  template <class... Context>
  side_holder(rt::watched* w, rt::io_side& side, const Context&... ctx) noexcept
      : w_(w), side_(side), waits_(ctx...), result_(waits_.begin(w, side)) {}
  ~side_holder() {
    if (result_ != rt::io_result::ready) return;
    rt::enter();
    rt::end_io(w_, side_, may_try_);
    rt::leave();
  }
  side_holder(const side_holder&) = delete;
  side_holder& operator=(const side_holder&) = delete;

  rt::io_result result() const noexcept { return result_; }
  // The call found nothing. Parks until another is worth making; the side is not held after any
  // result but `ready`.
  rt::io_result wait() noexcept { return result_ = waits_.wait(w_, side_); }
  rt::io_result context_end() const noexcept { return waits_.end(); }
  // The next call may find something at once.
  void more_to_come() noexcept { may_try_ = true; }

 private:
  rt::watched* w_;
  rt::io_side& side_;
  [[no_unique_address]] Waits waits_;
  rt::io_result result_;
  bool may_try_ = false;
};

// An operation takes a context as its last argument, or none.
template <class... Context>
using side_lock =
    side_holder<std::conditional_t<sizeof...(Context) == 0, plain_waits, context_waits>>;

// Makes the call until it does not say that it would block. Returns what it returned; with `error`
// set, a negative number. `may_block`: it may also block the thread.
template <class Waits, class Call>
long call_with_side(side_holder<Waits>& t, rt::watched* w, const Call& call, std::error_code& error,
                    bool may_block = false) {
  rt::io_result result = t.result();
  while (result == rt::io_result::ready) {  // ends by the call or the descriptor
    long n = try_together(call, w->fd);
    if (n == platform::not_made) {
      n = w->is_polled && !may_block ? attempt(call, w->fd) : attempt_blocking(call, w->fd);
    }
    if (n == -EAGAIN) {
      result = t.wait();
    } else if (n != -EINTR) {
      is_success(n, error);
      return n;
    }
  }
  error = error_of(result);
  return -1;
}

enum class direction { read, write };

inline rt::io_side& side_of(rt::watched* w, direction d) noexcept {
  return d == direction::read ? w->reading : w->writing;
}

// Nothing was ever open.
inline bool refuse(const rt::watched* w, std::error_code& error) noexcept {
  if (w == nullptr) error = std::make_error_code(std::errc::bad_file_descriptor);
  return w == nullptr;
}

// A call that waits for no event and holds no side: the descriptor stays open meanwhile.
template <class Call>
std::size_t use(rt::watched* w, const Call& call, std::error_code& error) noexcept {
  error.clear();
  if (refuse(w, error)) return 0;
  rt::enter();
  const rt::io_result begun = rt::begin_use(w);
  rt::leave();
  if (begun != rt::io_result::ready) {
    error = error_of(begun);
    return 0;
  }
  long n = try_together(call, w->fd);
  if (n == platform::not_made) n = attempt_uninterrupted(call, w->fd);
  rt::enter();
  rt::end_use(w);
  rt::leave();
  return is_success(n, error) ? static_cast<std::size_t>(n) : 0;
}

// One call. `is_all(n)` says whether its result tells that there is nothing more at the moment.
template <class Call, class IsAll, class... Context>
long perform(rt::watched* w, direction d, const Call& call, const IsAll& is_all,
             std::error_code& error, const Context&... ctx) {
  if (has_ended(error, ctx...) || refuse(w, error)) return -1;
  side_lock<Context...> t(w, side_of(w, d), ctx...);
  const long n = call_with_side(t, w, call, error);
  if (n < 0 || !is_all(n)) t.more_to_come();
  return n;
}

}  // namespace sley::io
