// Families of goroutines. A goroutine or foreign thread passes its family on to each goroutine that
// it starts, so that a test finds the goroutines which descend from it: debug/no_leaks.cpp. Most
// goroutines are of none.
#pragma once

#include <sley/detail/atomic.hpp>

#include "runtime/state/hold.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// The caller's, 0 if it is of none. On any thread, outside.
inline std::uint64_t family_of_caller() noexcept {
  const machine* m = this_machine();
  return m == nullptr ? 0 : m->g->own_family();
}

// How many goroutines and threads have come to a family so far. A snapshot looks at each goroutine
// at a moment of its own, so it may miss a goroutine that starts meanwhile, and its parent, which
// has ended when it is looked at. A snapshot in which the count stays the same misses no goroutine
// of a family.
//
// FM-1  A goroutine can be found before it is counted, and its parent lives until then: add_acq_rel
//       in count_join <-> load_acquire in joins_of_families before the snapshot. After the snapshot
//       the reader has seen the parent's end, which comes after the count.
inline constinit detail::atomic<std::uint64_t> family_joins{0};  // [atomic FM-1]

// The caller has started a goroutine of its family, or has come to one.
inline void count_join() noexcept { family_joins.add_acq_rel(1, "FM-1"); }

inline std::uint64_t joins_of_families() noexcept { return family_joins.load_acquire("FM-1"); }

// The caller is of that family from now on. It has used the library before, if it is a thread. May
// throw std::bad_alloc. Outside.
inline void set_family_of_caller(std::uint64_t family) {
  change_extra(this_machine()->g, [family](goroutine_extra& extra) { extra.family = family; });
  count_join();
}

// Goroutines that are started while it lives serve the whole program, and are of no family.
// Outside.
class outside_of_families {
 public:
  outside_of_families() : family_(family_of_caller()) {
    if (family_ != 0) set_family_of_caller(0);
  }
  ~outside_of_families() {
    if (family_ != 0) set_family_of_caller(family_);  // the caller has an extra
  }
  outside_of_families(const outside_of_families&) = delete;
  outside_of_families& operator=(const outside_of_families&) = delete;

 private:
  const std::uint64_t family_;
};

}  // namespace sley::rt
