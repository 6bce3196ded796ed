// Machines off each other's CPUs; see cpu_spread.cpp.
#pragma once

#include "base/random.hpp"
#include "platform/placement.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// [sysmon]
class cpu_spread {
 public:
  void look(std::int64_t now_ns) noexcept;

 private:
  bool find_free(std::int32_t thread_id, const platform::cpu_set& taken,
                 std::uint32_t& cpu) noexcept;
  void see_to_place(machine* m, platform::cpu_set& taken) noexcept;

  base::random choice_{1};
  std::int64_t next_ns_ = 0;
};

}  // namespace sley::rt
