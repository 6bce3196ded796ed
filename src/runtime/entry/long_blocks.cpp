#include "runtime/entry/long_blocks.hpp"

#include "runtime/entry/enter.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"

namespace sley::rt {

void report_long_blocks(std::int64_t threshold_ns) noexcept {
  const inside guard;
  if (goroutine* waiter = long_blocks.set_threshold(threshold_ns)) ready(waiter);
}

bool next_long_block(long_block& to) noexcept {
  for (;;) {  // ends by a block, or because none are reported any more
    enter();
    long_blocks.lock().acquire();
    const bool goes_on = long_blocks.threshold_ns() != 0;
    if (goes_on && !long_blocks.take_or_wait(to, current_machine()->g)) {
      park_and_release(wait::long_block, nullptr, long_blocks.lock());
      leave();
      continue;
    }
    long_blocks.lock().release();
    leave();
    return goes_on;
  }
}

}  // namespace sley::rt
