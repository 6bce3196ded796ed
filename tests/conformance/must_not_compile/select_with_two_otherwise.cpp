// expect: sley::select: there is more than one otherwise
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(c), sley::otherwise());
#else
  sley::select(sley::otherwise(), sley::on_receive(c), sley::otherwise([] {}));
#endif
}
