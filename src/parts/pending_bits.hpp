// Pending events as a set of bits. Any thread and any signal handler may add bits; a taker takes
// all of them at once.
//
//   operation      allowed callers
//   add, take      any thread; add also in a signal handler
//   is_any         any thread; the answer may be outdated at once
//
//   PN-1  No bit is lost, and the taker of a bit sees all writes before the bit was added:
//         or_acq_rel in add <-> exchange_acq_rel in take.
//   Test: tests/model/published_model.cpp.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::parts {

class pending_bits {
 public:
  constexpr pending_bits() noexcept = default;

  void add(std::uint64_t bits) noexcept { bits_.or_acq_rel(bits, "PN-1"); }
  std::uint64_t take() noexcept { return bits_.exchange_acq_rel(0, "PN-1"); }
  bool is_any() const noexcept { return bits_.load_relaxed() != 0; }

 private:
  detail::atomic<std::uint64_t> bits_;  // [atomic PN-1]
};

}  // namespace sley::parts
