// The sets of watched descriptors; runtime/source/poll_sets.hpp says which machine polls which.
#pragma once

#include <sley/detail/atomic.hpp>

#include "parts/role.hpp"
#include "platform/cpu.hpp"
#include "platform/poller.hpp"

#include <cstdint>

namespace sley::rt {

struct alignas(platform::cache_line_bytes) poll_set {
  parts::role looking;                    // held by the thread that polls the set
  detail::atomic<std::uint32_t> looks;    // relaxed: tells other machines whether the set is polled
  detail::atomic<std::uint32_t> watched;  // relaxed: descriptors; an empty set is not polled
};

// One observer's memory of which sets are polled.
class look_counts {
 public:
  // Does the set have descriptors, and has no machine polled it since this was last asked?
  bool is_neglected(std::uint32_t set) noexcept;

 private:
  std::uint32_t seen_[platform::most_poll_sets] = {};
};

// A processor's memory of its rounds over the sets of others.
struct set_rounds {
  std::uint64_t last_cycles = 0;  // when its machine polled them last
  std::uint32_t count = 0;
  look_counts looks;
};

}  // namespace sley::rt
