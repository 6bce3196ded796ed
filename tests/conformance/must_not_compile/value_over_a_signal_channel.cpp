// expect: sley: a chan<void> carries signals, not values
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
#ifdef CORRECTED
  c.send();
#else
  c.send(1);
#endif
}
