// expect: sley: the value does not convert to what the channel carries
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c(1);
#ifdef CORRECTED
  sley::select(sley::on_send(c, 1));
#else
  sley::select(sley::on_send(c, "text"));
#endif
}
