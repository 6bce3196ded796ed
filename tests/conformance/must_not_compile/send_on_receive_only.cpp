// expect: no member named .send.
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  c.send(1);
#else
  sley::recv_chan<int>(c).send(1);
#endif
}
