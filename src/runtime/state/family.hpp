// What goroutines inherit: a family and labels. A goroutine or foreign thread passes them on to
// each goroutine that it starts. By a family a test finds the goroutines which descend from it:
// debug/no_leaks.cpp. Labels are the program's own: debug/labels.cpp. Most goroutines have neither.
#pragma once

#include <sley/detail/atomic.hpp>

#include "runtime/state/hold.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// The caller's, if it has any. On any thread, outside.
inline heritage heritage_of_caller() noexcept {
  const machine* m = this_machine();
  return m == nullptr || !m->g->has_heritage() ? heritage{} : m->g->extra.load_relaxed()->passed_on;
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

// The caller has that heritage from now on. It has used the library before, if it is a thread. May
// throw std::bad_alloc if the caller had none. Outside.
inline void set_heritage_of_caller(const heritage& other) {
  goroutine* g = this_machine()->g;
  const bool joins = other.family != g->own_family();
  change_extra(g, [&other](goroutine_extra& extra) { extra.passed_on = other; });
  if (joins) count_join();
}

// The same of its family alone.
inline void set_family_of_caller(std::uint64_t family) {
  set_heritage_of_caller({.family = family, .labels = heritage_of_caller().labels});
}

// Goroutines that are started while it lives serve the whole program, and inherit nothing. Outside.
class without_heritage {
 public:
  without_heritage() : heritage_(heritage_of_caller()) {
    if (heritage_.is_any()) set_heritage_of_caller({});
  }
  ~without_heritage() {
    if (heritage_.is_any()) set_heritage_of_caller(heritage_);  // the caller has an extra
  }
  without_heritage(const without_heritage&) = delete;
  without_heritage& operator=(const without_heritage&) = delete;

 private:
  const heritage heritage_;
};

}  // namespace sley::rt
