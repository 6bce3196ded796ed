// Where functions of riscv64 have their frame records: see platform/unwind/sleeper.hpp.
#pragma once

#include "platform/unwind/sleeper.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sley::platform {

// Few functions need their frame pointer to find their caller, and their records are anywhere in
// their frames.
inline std::optional<std::uint64_t> record_above_sp(std::span<const std::uint8_t>,
                                                    std::size_t) noexcept {
  return {};
}

}  // namespace sley::platform
