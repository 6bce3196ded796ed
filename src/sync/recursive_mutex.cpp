// recursive_mutex: a mutex that knows its owner.
#include <sley/recursive_mutex.hpp>

#include "base/check.hpp"
#include "sync/caller.hpp"
#include "sync/misuse.hpp"

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
