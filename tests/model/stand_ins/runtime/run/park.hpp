// For models of src/sync.
#pragma once

#include <sley/detail/lock.hpp>

#include "runtime/state/goroutine.hpp"
#include "runtime/state/wait_reason.hpp"

namespace sley::rt {

inline void park(wait, const void*, void (*action)(goroutine*, void*) noexcept, void* arg) {
  goroutine* g = current_machine()->g;
  g->is_saved.set(true);
  action(g, arg);
  RL_ASSERT(g->note.sleep());
  g->note.clear();
}

inline void park_and_release(wait reason, const void* object, detail::lock& held) {
  const auto release = [](goroutine*, void* arg) noexcept {
    static_cast<detail::lock*>(arg)->release();
  };
  park(reason, object, release, &held);
}

}  // namespace sley::rt
