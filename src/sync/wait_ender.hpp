// Ends a wait at a wait_list from outside, when a context ends. It lasts as long as the operation,
// which may wait several times. (sync/wait_with_context.hpp makes one for a context.)
//
// Each timed_waiter of the operation attaches itself before it gets in line, and detaches itself
// when it goes. The end claims the waiter as its timer would (SL-2), so a wake_ call and the end
// never both have it: a waiter that was chosen keeps what it was chosen for.
#pragma once

#include <sley/detail/lock.hpp>

namespace sley::sync {

class timed_waiter;

class wait_ender {
 public:
  wait_ender() noexcept = default;
  wait_ender(const wait_ender&) = delete;
  wait_ender& operator=(const wait_ender&) = delete;

  // Inside the runtime, without a list's lock. A waiter that comes too late has ended already.
  void attach(timed_waiter& w) noexcept;
  void detach() noexcept;
  // From user code, once. The waiter goes on, and so does each that follows.
  void end() noexcept;

 private:
  // Lists' locks are taken under it.
  detail::lock lock_{detail::lock_rank::none};
  timed_waiter* waiter_ = nullptr;  // [lock: lock_]
  bool has_ended_ = false;          // [lock: lock_]
};

}  // namespace sley::sync
