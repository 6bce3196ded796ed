// Channels whose room is a limit: a send takes one of its places, and a receive gives it back.
#pragma once

#include <sley/chan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sley::http::detail {

// As many as an option asks for: one at least, because with none nothing would ever go on. SIZE_MAX
// is no limit in effect.
inline chan<void> make_slots(std::size_t count) {
  return chan<void>(std::clamp<std::size_t>(count, 1, PTRDIFF_MAX));
}

}  // namespace sley::http::detail
