// expect: sley: a send needs a value, except over a chan<void>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c(1);
#ifdef CORRECTED
  sley::select(sley::on_send(c, 1));
#else
  sley::select(sley::on_send(c));
#endif
}
