// How a goroutine leaves its processor of its own accord.
#pragma once

#include <cstdint>

namespace sley::rt {

enum class departure : std::uint8_t {
  none,  // none leaves, or the release of the processor tells how
  parks,
  yields,
  ends,
};

}  // namespace sley::rt
