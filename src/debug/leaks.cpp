// Leaked goroutines as values.
#include "debug/goroutine_info.hpp"
#include "debug/leak_search.hpp"
#include "platform/stopped_process.hpp"
#include "runtime/entry/snapshot.hpp"

#include <sley/debug.hpp>

#include <algorithm>

namespace sley::debug {

leaked_goroutines::leaked_goroutines() {
  if constexpr (platform::can_stop_process) ids_ = find_leaked();
}

bool leaked_goroutines::operator()(const rt::goroutine_view& g) const noexcept {
  if constexpr (platform::can_stop_process) return std::ranges::binary_search(ids_, g.id);
  return g.is_waiting && g.id != rt::main_goroutine_id && rt::is_for_nothing(g.reason);
}

// A goroutine that is leaked stays so, so it is still there for the snapshot. The address of what
// it waits for is left out: a value that has it would be a pointer for the next search.
std::vector<goroutine_info> leaks() {
  const leaked_goroutines is_leaked;
  const rt::snapshot all;
  std::vector<goroutine_info> result;
  for_each(all, [&](const rt::snapshot::entry& e) {
    if (!is_leaked(e.goroutine)) return;
    result.push_back(info_without_objects(e));
    result.back().is_leaked = true;
  });
  std::ranges::sort(result, {}, &goroutine_info::id);
  return result;
}

}  // namespace sley::debug
