// For models of code that uses the runtime's lock: its slow way, and the table of sleepers that it
// needs.
#pragma once

#include "model/model.hpp"

#include "parts/lock.cpp"

namespace sley::detail {
static_table<atomic<std::uint32_t>, sleeper_places> lock_sleepers;
}

namespace sley::model {

template <class Derived, unsigned Threads>
struct locking_suite : suite<Derived, Threads> {
  static constexpr bool has_barriers = true;

  locking_suite() {
    detail::lock_sleepers.place = &sleepers;
    if (detail::barriers_are_symmetric) sleepers.store_relaxed(1);  // LK-2: one too many
  }

  detail::atomic<std::uint32_t> sleepers;
};

}  // namespace sley::model
