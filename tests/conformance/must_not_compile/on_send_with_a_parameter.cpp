// expect: sley: the function of a case that does not receive takes no arguments
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c(1);
#ifdef CORRECTED
  sley::select(sley::on_send(c, 1, [] {}));
#else
  sley::select(sley::on_send(c, 1, [](int) {}));
#endif
}
