// The checks of latch, and the phases of barrier.
#include <sley/latch.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_with_context.hpp"

#include <stdexcept>

namespace sley {

void latch::throw_bad_count() {
  throw std::logic_error("sley::latch: the count is negative or too large");
}

namespace detail {

void barrier_core::throw_bad_count() {
  throw std::logic_error("sley::barrier: the number of participants is negative");
}

bool barrier_core::arrive(std::ptrdiff_t n, bool drops, std::uint64_t& phase) {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  const bool fits = n > 0 && n <= left_;
  if (fits) {
    left_ -= n;
    if (drops) expected_ -= n;
    phase = phase_;
  }
  const bool is_last = fits && left_ == 0;
  waiters_.guard().release();
  rt::leave(m);
  if (!fits) throw std::logic_error("sley::barrier: more arrivals than the phase expects");
  return is_last;
}

void barrier_core::complete() noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  left_ = expected_;
  ++phase_;
  waiters_.wake_all_and_release();
  rt::leave(m);
}

void barrier_core::wait(std::uint64_t phase) {
  rt::enter();
  waiters_.guard().acquire();
  if (phase_ == phase) {
    waiters_.park(rt::wait::barrier_wait, this);
  } else {
    waiters_.guard().release();
  }
  rt::leave();
}

void barrier_core::wait(std::uint64_t phase, const context& ctx, std::error_code& error) {
  sync::wait_with(ctx, error, [&](wait_limit limit) { return wait_within(phase, limit); });
}
void barrier_core::wait(std::uint64_t phase, const context& ctx) {
  sync::throwing_with("sley::barrier: wait", [&](std::error_code& e) { wait(phase, ctx, e); });
}

bool barrier_core::wait_within(std::uint64_t phase, wait_limit limit) {
  rt::enter();
  bool is_over = true;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    if (phase_ == phase) {
      is_over = self.park(waiters_, rt::wait::barrier_wait, this);
    } else {
      waiters_.guard().release();
    }
  }
  rt::leave();
  return is_over;
}

}  // namespace detail
}  // namespace sley
