// While it lives, the caller waits for a shared_mutex: for the figure of all waits for locks. From
// user code.
#pragma once

#include "platform/decisions.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/contention.hpp"

#include <cstdint>

namespace sley::sync {

class lock_wait {
 public:
  lock_wait() noexcept : since_ns_(platform::now_ns()) {}
  ~lock_wait() {
    const rt::inside inside;
    rt::count_lock_wait(platform::now_ns() - since_ns_);
  }
  lock_wait(const lock_wait&) = delete;
  lock_wait& operator=(const lock_wait&) = delete;

 private:
  const std::int64_t since_ns_;
};

}  // namespace sley::sync
