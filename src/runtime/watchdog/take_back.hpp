// Taking processors from goroutines that block or compute; see take_back.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

struct look_result {
  bool has_taken = false;  // a processor was taken away
  std::int64_t
      look_at_ns;  // when the next look is due at the latest; `never` if it does not matter
  std::uint32_t without_machine = 0;  // processors that are idle or on their way
};

// [sysmon]
look_result look_at_processors(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
