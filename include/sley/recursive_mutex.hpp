// A mutex that its owner may lock again, as in <mutex>.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/mutex.hpp>

#include <cstdint>
#include <system_error>

namespace sley {

// As std::recursive_mutex; the owner is a goroutine, or a foreign thread. lock() parks a goroutine
// and blocks a foreign thread. It is unlocked as often as it was locked, by its owner: unlocking it
// otherwise is a fatal error. It must not be destroyed while it is locked.
class SLEY_API recursive_mutex {
 public:
  recursive_mutex() noexcept = default;
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;
  ~recursive_mutex();

  void lock();
  // As mutex's.
  void lock(const context& ctx);
  void lock(const context& ctx, std::error_code& error);
  bool try_lock();
  void unlock() noexcept;

 private:
  bool is_mine(const void* self) const noexcept {
    return owner_.load_relaxed() == self;  // only the caller itself stores this value
  }

  mutex mutex_;
  detail::atomic<const void*> owner_;  // relaxed: only compared with oneself
  std::uint64_t depth_ = 0;            // [lock: mutex_]
};

}  // namespace sley
