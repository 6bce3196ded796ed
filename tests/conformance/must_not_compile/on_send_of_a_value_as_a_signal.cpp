// expect: sley: the function of a case that does not receive takes no arguments
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c(1);
#ifdef CORRECTED
  sley::select(sley::on_send(c));
#else
  sley::select(sley::on_send(c, 1));
#endif
}
