// System calls on watched descriptors: each is tried, and where it would block the goroutine waits
// for an event and tries again. From Go's internal/poll.
#pragma once

#include <sley/detail/descriptor.hpp>
#include <sley/runtime.hpp>

#include "platform/system_call.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/run/netpoll.hpp"

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace sley::io {

// What is reported for an operation that was not to be.
std::error_code error_of(rt::io_result result) noexcept;

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

// Holds one side of a descriptor: the right to make calls on it. Parks while another goroutine
// holds it.
class side_lock {
 public:
  side_lock(rt::watched* w, rt::io_side& side) noexcept : w_(w), side_(side) {
    rt::enter();
    result_ = rt::begin_io(w, side);
    rt::leave();
  }
  ~side_lock() {
    if (result_ != rt::io_result::ready) return;
    rt::enter();
    rt::end_io(w_, side_, may_try_);
    rt::leave();
  }
  side_lock(const side_lock&) = delete;
  side_lock& operator=(const side_lock&) = delete;

  rt::io_result result() const noexcept { return result_; }
  // The call found nothing. Parks until another is worth making; the side is not held after any
  // result but `ready`.
  rt::io_result wait() noexcept {
    rt::enter();
    result_ = rt::wait_for_event(w_, side_);
    rt::leave();
    return result_;
  }
  // The next call may find something at once.
  void more_to_come() noexcept { may_try_ = true; }

 private:
  rt::watched* w_;
  rt::io_side& side_;
  rt::io_result result_;
  bool may_try_ = false;
};

// Makes the call until it does not say that it would block. Returns what it returned; with `error`
// set, a negative number. `may_block`: it may also block the thread.
template <class Call>
long call_with_side(side_lock& t, rt::watched* w, const Call& call, std::error_code& error,
                    bool may_block = false) {
  rt::io_result result = t.result();
  while (result == rt::io_result::ready) {  // ends by the call or the descriptor
    const long n =
        w->is_polled && !may_block ? attempt(call, w->fd) : attempt_blocking(call, w->fd);
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
  const bool is_open = rt::begin_use(w);
  rt::leave();
  if (!is_open) {
    error = error_of(rt::io_result::closed);
    return 0;
  }
  const long n = attempt_uninterrupted(call, w->fd);
  rt::enter();
  rt::end_use(w);
  rt::leave();
  return is_success(n, error) ? static_cast<std::size_t>(n) : 0;
}

// One call. `is_all(n)` says whether its result tells that there is nothing more at the moment.
template <class Call, class IsAll>
long perform(rt::watched* w, direction d, const Call& call, const IsAll& is_all,
             std::error_code& error) {
  error.clear();
  if (refuse(w, error)) return -1;
  side_lock t(w, side_of(w, d));
  const long n = call_with_side(t, w, call, error);
  if (n < 0 || !is_all(n)) t.more_to_come();
  return n;
}

}  // namespace sley::io
