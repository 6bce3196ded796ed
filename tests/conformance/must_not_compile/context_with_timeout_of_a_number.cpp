// expect: use of deleted function .*time_span\(a_time_needs_a_unit_such_as_5s\)
// expect: (invokes a deleted function|call to deleted)
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
#ifdef CORRECTED
  auto [ctx, cancel] = sley::with_timeout(sley::context(), std::chrono::seconds(5));
#else
  auto [ctx, cancel] = sley::with_timeout(sley::context(), 5);
#endif
}
