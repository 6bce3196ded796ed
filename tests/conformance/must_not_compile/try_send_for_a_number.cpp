// expect: use of deleted function .*time_span\(a_time_needs_a_unit_such_as_5s\)
// expect: (invokes a deleted function|call to deleted)
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  (void)c.try_send_for(1, std::chrono::seconds(5));
#else
  (void)c.try_send_for(1, 5);
#endif
}
