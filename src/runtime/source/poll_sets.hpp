// Which machine polls which descriptors. Descriptors are watched in sets, one set for each
// processor as far as possible. A machine polls the set of its processor when it has nothing to
// run. So a goroutine goes on where the descriptor that it waited for is watched; netpoll.cpp
// chooses that set.
//
// A machine that polls its own set also polls the sets of idle processors, once in 20 us at most,
// and now and then the sets that have gone unpolled because the machines of their processors
// compute. sysmon polls the sets that are left. The sleeping poller waits for events of all sets
// (poll.cpp).
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/poll_set.hpp"

#include <cstdint>

namespace sley::rt {

struct machine;
struct processor;

// The set of the processor.
std::uint32_t poll_set_of(const processor* p) noexcept;

// Opens a set for each processor, as far as possible. Returns 0 if there is any set, or an errno
// value. At boot, and [stw].
int open_poll_sets() noexcept;

// As watch() and unwatch() of platform/poller.hpp.
[[nodiscard]] int add_to_set(std::uint32_t set, int fd, std::uint64_t tag) noexcept;
void remove_from_set(std::uint32_t set, int fd) noexcept;

// These poll without waiting and return the goroutines that must be made ready.
goroutine_list look_at_all_sets() noexcept;        // [inside]
goroutine_list look_at_sets(machine* m) noexcept;  // [inside] own set and others'

// The sets that no machine has polled for long. [sysmon]
class late_sets {
 public:
  // Polls them, as above.
  goroutine_list look(std::int64_t now_ns) noexcept;

 private:
  look_counts counts_;
  std::int64_t seen_at_ns_[platform::most_poll_sets] = {};  // when they were last polled
};

// Has any set gone unpolled since this was last asked with these counts?
bool are_any_neglected(look_counts& counts) noexcept;

}  // namespace sley::rt
