// expect: sley: a send needs a value, except over a chan<void>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  c.send(1);
#else
  c.send();
#endif
}
