// What has come up and has not been seen to: bits that anybody adds, also in a signal handler, and
// that are taken all at once.
//
//   operation      who may call it
//   add, take      anybody
//   is_any         anybody; a moment's answer
//
//   PN-1  No bit is lost, and who takes one sees what was done before it was added: or_acq_rel in
//         add <-> exchange_acq_rel in take.
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
