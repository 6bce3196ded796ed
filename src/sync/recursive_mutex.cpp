// recursive_mutex: a mutex that knows its owner.
#include <sley/recursive_mutex.hpp>

#include "base/check.hpp"
#include "sync/caller.hpp"
#include "sync/misuse.hpp"
#include "sync/wait_with_context.hpp"

namespace sley {

recursive_mutex::~recursive_mutex() {
  if (base::debug_checks && owner_.load_relaxed() != nullptr) {
    sync::destroyed_in_use("sley: a recursive_mutex is destroyed while it is locked");
  }
}

void recursive_mutex::lock() {
  const void* me = sync::caller();
  if (!is_mine(me)) {
    mutex_.lock();
    owner_.store_relaxed(me);
  }
  ++depth_;
}

void recursive_mutex::lock(const context& ctx, std::error_code& error) {
  const void* me = sync::caller();
  error = sync::error_of(ctx);
  if (error) return;
  if (!is_mine(me)) {
    mutex_.lock(ctx, error);
    if (error) return;
    owner_.store_relaxed(me);
  }
  ++depth_;
}
void recursive_mutex::lock(const context& ctx) {
  sync::throwing_with("sley: lock a recursive_mutex", [&](std::error_code& e) { lock(ctx, e); });
}

bool recursive_mutex::try_lock() {
  const void* me = sync::caller();
  if (!is_mine(me)) {
    if (!mutex_.try_lock()) return false;
    owner_.store_relaxed(me);
  }
  ++depth_;
  return true;
}

void recursive_mutex::unlock() noexcept {
  if (!is_mine(sync::caller()))
    base::fatal(
        "sley: a recursive_mutex is unlocked by a goroutine or thread that does not own it");
  if (--depth_ != 0) return;
  owner_.store_relaxed(nullptr);
  mutex_.unlock();
}

}  // namespace sley
