// The checks of latch, and the phases of barrier.
#include <sley/latch.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"

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
    waiters_.park(rt::wait::barrier_wait);
  } else {
    waiters_.guard().release();
  }
  rt::leave();
}

}  // namespace detail
}  // namespace sley
