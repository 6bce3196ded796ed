// expect: cannot convert .*std::optional<int>.* to .int.
// expect: no viable conversion from .*std::optional<int>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  int n = c.receive().value_or(0);
  (void)n;
#else
  int n = c.receive();
  (void)n;
#endif
}
