// expect: use of deleted function .*time_span\(a_time_needs_a_unit_such_as_5s\)
// expect: (invokes a deleted function|call to deleted)
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
#ifdef CORRECTED
  sley::select(sley::on_timeout(std::chrono::seconds(1)));
#else
  sley::select(sley::on_timeout(0.5));
#endif
}
