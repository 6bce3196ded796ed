// What one at a time may have, and nobody waits for.
//
//   operation    who may call it
//   try_take     anybody
//   give_back    who has it
//   is_taken     anybody; a moment's answer
//
//   CL-1  Who has it sees what those before did with it: store_release in give_back <->
//         exchange_acquire in try_take.
//   Test: tests/model/published_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::parts {

class claim {
 public:
  constexpr claim() noexcept = default;

  bool try_take() noexcept { return !is_taken() && !taken_.exchange_acquire(true, "CL-1"); }
  void give_back() noexcept { taken_.store_release(false, "CL-1"); }
  bool is_taken() const noexcept { return taken_.load_relaxed(); }

 private:
  detail::atomic<bool> taken_;  // [atomic CL-1]
};

}  // namespace sley::parts
