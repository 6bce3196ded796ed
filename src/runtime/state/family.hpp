// Families of goroutines. A goroutine or foreign thread passes its family on to each goroutine that
// it starts, so that a test finds the goroutines which descend from it: debug/no_leaks.cpp. Most
// goroutines are of none.
#pragma once

#include "runtime/state/hold.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// The caller's, 0 if it is of none. On any thread, outside.
inline std::uint64_t family_of_caller() noexcept {
  const machine* m = this_machine();
  return m == nullptr ? 0 : m->g->own_family();
}

// The caller is of that family from now on. It has used the library before, if it is a thread. May
// throw std::bad_alloc. Outside.
inline void set_family_of_caller(std::uint64_t family) {
  change_extra(this_machine()->g, [family](goroutine_extra& extra) { extra.family = family; });
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
