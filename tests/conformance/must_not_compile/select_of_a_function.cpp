// expect: sley::select: each case is made by on_receive, on_send, on_timeout, otherwise or
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(c, [](auto) {}));
#else
  sley::select(sley::on_receive(c), [](auto) {});
#endif
}
