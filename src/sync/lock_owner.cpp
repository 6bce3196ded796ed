#include <sley/detail/lock_owner.hpp>

#include "base/check.hpp"
#include "sync/caller.hpp"
#include "sync/misuse.hpp"

namespace sley::detail {

void noted_owner::enter() noexcept {
  where_ = sync::calling_place();
  const rt::goroutine* g = sync::caller();
  who_.store_relaxed(g);
  goroutine_.store_relaxed(g->is_foreign ? 0 : g->id);
}

void noted_owner::leave(const char* message) noexcept {
  const void* who = who_.load_relaxed();
  if (who != nullptr && who != sync::caller()) base::fatal(message);
  who_.store_relaxed(nullptr);
  goroutine_.store_relaxed(0);
}

void noted_owner::check_not_caller(const char* message) const noexcept {
  const void* who = who_.load_relaxed();
  if (who != nullptr && who == sync::caller()) sync::locked_twice(message, where_);
}

}  // namespace sley::detail
