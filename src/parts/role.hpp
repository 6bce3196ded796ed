// A role that one thread at a time may hold. No thread waits for it.
//
//   operation    allowed callers
//   try_take     any thread
//   give_back    the holder
//   is_taken     any thread; the answer may be outdated at once
//
//   CL-1  A holder sees the writes of earlier holders of the role: store_release in give_back <->
//         exchange_acquire in try_take.
//   Test: tests/model/published_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::parts {

class role {
 public:
  constexpr role() noexcept = default;

  bool try_take() noexcept { return !is_taken() && !taken_.exchange_acquire(true, "CL-1"); }
  void give_back() noexcept { taken_.store_release(false, "CL-1"); }
  bool is_taken() const noexcept { return taken_.load_relaxed(); }

 private:
  detail::atomic<bool> taken_;  // [atomic CL-1]
};

}  // namespace sley::parts
