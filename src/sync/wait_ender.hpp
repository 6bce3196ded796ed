// Ends a wait at a wait_list from outside, when a context ends. It lasts as long as the operation,
// which may wait several times.
//
//   wait_with(ctx, error, [this](detail::wait_limit limit) { return acquire_slow(limit); });
//
// Each timed_waiter of the operation attaches itself before it gets in line, and detaches itself
// when it goes. The end claims the waiter as its timer would (SL-2), so a wake_ call and the end
// never both have it: a waiter that was chosen keeps what it was chosen for.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/lock.hpp>

#include <system_error>

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

// Waits by wait(limit) -> bool, unless the context has ended; false means that the limit was
// reached.
template <class Wait>
void wait_with(const context& ctx, std::error_code& error, const Wait& wait) {
  error = ctx.error();
  if (error) return;
  bool is_over = false;
  {
    wait_ender ender;
    const detail::on_context_end hook(ctx, [&ender] { ender.end(); });
    is_over = !wait(detail::wait_limit(ender));
  }
  if (is_over) error = ctx.error();
}

// The form of an operation that throws, made of the form that takes an error.
template <class Operation>
void throwing_with(const char* name, const Operation& operation) {
  std::error_code error;
  operation(error);
  if (error) throw std::system_error(error, name);
}

}  // namespace sley::sync
