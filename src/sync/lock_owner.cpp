#include <sley/detail/lock_owner.hpp>

#include "base/check.hpp"
#include "sync/caller.hpp"

namespace sley::detail {

void noted_owner::enter() noexcept { who_.store_relaxed(sync::caller()); }

void noted_owner::leave(const char* message) noexcept {
  const void* who = who_.load_relaxed();
  if (who != nullptr && who != sync::caller()) base::fatal(message);
  who_.store_relaxed(nullptr);
}

}  // namespace sley::detail
