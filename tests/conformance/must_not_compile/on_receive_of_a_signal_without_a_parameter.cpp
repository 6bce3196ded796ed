// expect: sley: the function of a case that receives from a chan<void> takes a bool
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(c, [](bool) {}));
#else
  sley::select(sley::on_receive(c, [] {}));
#endif
}
