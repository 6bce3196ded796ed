// expect: sley: a send needs a value, except over a chan<void>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
  sley::select_set set;
#ifdef CORRECTED
  set.add_send(c, 1);
#else
  set.add_send(c);
#endif
}
