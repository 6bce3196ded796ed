// Who looks at which descriptors for events. They are watched in sets, one for each processor as
// far as that goes. Who holds a processor looks at its set when there is nothing to run, so a
// goroutine goes on where the descriptor that it has waited for is watched; netpoll.cpp chooses
// where that is.
//
// A set whose processors nobody holds is everybody's: who looks at his own looks at those too, once
// in 20 us at most; and now and then at those that nobody has looked at for long, for who holds
// their processors computes. sysmon sees to what is left. Who sleeps as the poller waits for events
// of all sets (poll.cpp).
#pragma once

#include <sley/detail/atomic.hpp>

#include "parts/claim.hpp"
#include "platform/poller.hpp"
#include "runtime/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

struct machine;
struct processor;

struct alignas(64) watch_set {
  parts::claim looking;                   // by who looks for events
  detail::atomic<std::uint32_t> looks;    // relaxed: others see whether anybody does
  detail::atomic<std::uint32_t> watched;  // relaxed: descriptors; a look at none is left out
};

// Which sets are looked at, as somebody sees it who asks now and then.
class look_counts {
 public:
  // Are there descriptors in the set that nobody has looked at since this was asked of it last?
  bool is_neglected(std::uint32_t set) noexcept;

 private:
  std::uint32_t seen_[platform::most_watch_sets] = {};
};

// What a processor knows of the sets of others.
struct set_rounds {
  std::uint64_t last_cycles = 0;  // when it looked at them last
  std::uint32_t count = 0;
  look_counts looks;
};

// The set that the processor belongs to.
std::uint32_t watch_set_of(const processor* p) noexcept;

// Opens one for each processor, as far as they can be had. Returns 0 if there is any, or an errno
// value. At boot, and [stw].
int open_watch_sets() noexcept;

// As watch() and unwatch() of platform/poller.hpp.
[[nodiscard]] int add_to_set(std::uint32_t set, int fd, std::uint64_t tag) noexcept;
void remove_from_set(std::uint32_t set, int fd) noexcept;

// These look without waiting, and return who is to be made ready.
goroutine_list look_at_all_sets() noexcept;                      // [inside]
goroutine_list look_at_sets(machine* m) noexcept;                // [inside] its own, and others'
goroutine_list look_at_late_sets(std::int64_t now_ns) noexcept;  // [sysmon] nobody has for long

// Is there a set that nobody has looked at since this was asked with these counts last?
bool are_any_neglected(look_counts& counts) noexcept;

}  // namespace sley::rt
