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

#include <sley/detail/atomic.hpp>

#include "parts/claim.hpp"
#include "platform/poller.hpp"
#include "runtime/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

struct machine;
struct processor;

struct alignas(64) watch_set {
  parts::claim looking;                   // held by the thread that polls the set
  detail::atomic<std::uint32_t> looks;    // relaxed: tells other machines whether the set is polled
  detail::atomic<std::uint32_t> watched;  // relaxed: descriptors; an empty set is not polled
};

// One observer's memory of which sets are polled.
class look_counts {
 public:
  // Does the set have descriptors, and has no machine polled it since this was last asked?
  bool is_neglected(std::uint32_t set) noexcept;

 private:
  std::uint32_t seen_[platform::most_watch_sets] = {};
};

// A processor's memory of its rounds over the sets of others.
struct set_rounds {
  std::uint64_t last_cycles = 0;  // when its machine polled them last
  std::uint32_t count = 0;
  look_counts looks;
};

// The set of the processor.
std::uint32_t watch_set_of(const processor* p) noexcept;

// Opens a set for each processor, as far as possible. Returns 0 if there is any set, or an errno
// value. At boot, and [stw].
int open_watch_sets() noexcept;

// As watch() and unwatch() of platform/poller.hpp.
[[nodiscard]] int add_to_set(std::uint32_t set, int fd, std::uint64_t tag) noexcept;
void remove_from_set(std::uint32_t set, int fd) noexcept;

// These poll without waiting and return the goroutines that must be made ready.
goroutine_list look_at_all_sets() noexcept;                      // [inside]
goroutine_list look_at_sets(machine* m) noexcept;                // [inside] own set and others'
goroutine_list look_at_late_sets(std::int64_t now_ns) noexcept;  // [sysmon] sets unpolled for long

// Has any set gone unpolled since this was last asked with these counts?
bool are_any_neglected(look_counts& counts) noexcept;

}  // namespace sley::rt
