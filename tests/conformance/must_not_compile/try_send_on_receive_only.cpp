// expect: no member named .try_send.
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  (void)c.try_send(1);
#else
  (void)sley::recv_chan<int>(c).try_send(1);
#endif
}
