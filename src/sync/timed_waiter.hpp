// Waiting in a wait_list until a deadline or the end of a context, or in two steps.
//
//   timed_waiter self(limit);              arms the timer: before the list's lock is taken, because
//   list.guard().acquire();                a timer takes it with its heap's lock held
//   if (there is no need to wait) ...      release the lock, and return
//   return self.park(list, reason, object); lets the lock go; true: a wake_ call chose it
//
// A condition variable's waiter gets in line, does something else in user code, and parks then,
// unless it has been chosen meanwhile:
//
//   list.guard().acquire();
//   self.get_in_line(list);                lets the lock go
//   ...
//   return self.park_in_line(reason, object);
//
// Each wake_ call chooses a waiter that has not timed out, and a chosen waiter does not time out:
// the waker and the timer claim the waiter, and one of them gets it (SL-2).
#pragma once

#include <sley/detail/deadline.hpp>
#include <sley/detail/wait_list.hpp>

#include "runtime/source/timers.hpp"
#include "runtime/state/goroutine.hpp"
#include "sync/waiter.hpp"

#include <cstdint>

namespace sley::detail {

// On the stack of the goroutine that waits.
struct list_waiter {
  list_waiter* next = nullptr;        // [lock: the list's], then its waker's
  list_waiter* previous = nullptr;    // [lock: the list's]
  rt::goroutine* g = nullptr;         // [const]
  sync::wake_claim* claim = nullptr;  // [const] null: it is parked, and has no deadline
  bool is_told = false;               // [lock: the list's] set by its waker
  // Since when it waits, as far as the mutex profile has not counted it; 0: the profile was off.
  std::int64_t since_ns = 0;  // [lock: the list's]
};

}  // namespace sley::detail

namespace sley::sync {

class wait_ender;

class timed_waiter {
 public:
  // Inside the runtime, without the list's lock, as for the destructor. Without memory for a timer
  // it leaves the runtime and throws std::bad_alloc.
  explicit timed_waiter(detail::wait_limit limit);
  ~timed_waiter();
  timed_waiter(const timed_waiter&) = delete;
  timed_waiter& operator=(const timed_waiter&) = delete;

  // Once only, with the list's lock held, which it lets go. False: the time is up.
  [[nodiscard]] bool park(detail::wait_list& list, rt::wait reason, const void* object,
                          bool first_in_line = false);

  // Once it was chosen: has its waker told it something?
  bool was_told() const noexcept { return node_.is_told; }

  // With the list's lock held, which it lets go.
  void get_in_line(detail::wait_list& list) noexcept;
  // Inside the runtime, perhaps on another thread than before. False: the time is up.
  [[nodiscard]] bool park_in_line(rt::wait reason, const void* object) noexcept;
  // Instead, if there is no reason to wait any more.
  void leave_line() noexcept;

  // The time is up, or the context has ended. Returns the goroutine that must be made ready, or
  // null: a waker was faster, or the waiter is on its way to park and will see. [inside]
  rt::goroutine* end() noexcept;

 private:
  struct alarm : rt::timer {
    timed_waiter* waiter = nullptr;
  };

  const void* shown(const void* object) const noexcept;  // for goroutine::waits_for
  static rt::goroutine* time_out(rt::timer* t, std::int64_t now_ns) noexcept;
  static void commit_and_release(rt::goroutine* g, void* arg) noexcept;
  static void commit(rt::goroutine* g, void* arg) noexcept;

  detail::list_waiter node_;
  wake_claim claim_;
  detail::wait_list* list_ = nullptr;  // [const] once it is in the list
  alarm alarm_;
  wait_ender* ender_ = nullptr;  // [const] null: none
};

}  // namespace sley::sync
