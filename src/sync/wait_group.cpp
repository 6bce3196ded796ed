// The slow paths of wait_group.
#include <sley/wait_group.hpp>

#include "runtime/enter.hpp"
#include "runtime/wait_reason.hpp"

#include <stdexcept>

namespace sley {

void wait_group::add_slow(std::int32_t n, std::uint64_t after) {
  const std::int64_t sum = std::int64_t{count(after - units(n))} + n;
  if (sum < 0 || sum > INT32_MAX) {
    state_.sub_acq_rel(units(n), "WT-1");
    throw std::logic_error(sum < 0 ? "sley::wait_group: negative counter"
                                   : "sley::wait_group: counter too large");
  }
  // Zero, with waiters: they cannot go before we wake them, so the group stays.
  rt::enter();
  waiters_.guard().acquire();
  state_.store_release(0, "WT-1");
  waiters_.wake_all_and_release();
  rt::leave();
}

void wait_group::wait_slow() {
  rt::enter();
  waiters_.guard().acquire();
  std::uint64_t seen = state_.load_acquire("WT-1");
  bool must_wait = count(seen) != 0;
  while (must_wait && !state_.cas_acq_rel(seen, seen + 1, "WT-1")) must_wait = count(seen) != 0;
  if (must_wait) {
    waiters_.park(rt::wait::wait_group_wait);
  } else {
    waiters_.guard().release();
  }
  rt::leave();
}

}  // namespace sley
