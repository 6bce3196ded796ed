// Goroutines of a snapshot as values.
#pragma once

#include <sley/debug.hpp>

#include "runtime/entry/snapshot.hpp"

namespace sley::debug {

goroutine_info info_of(const rt::snapshot::entry& e);
// The same without what it waits for; nothing on the caller's stack is a pointer to it.
goroutine_info info_without_objects(const rt::snapshot::entry& e);

template <class Visit>
void for_each(const rt::snapshot& all, const Visit& visit) {
  for (const auto* e = all.first(); e != nullptr; e = all.after(e)) visit(*e);
}

}  // namespace sley::debug
