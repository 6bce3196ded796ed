// expect: sley: a send_chan only sends: receive from the chan, or from a recv_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  (void)c.receive();
#else
  (void)sley::send_chan<int>(c).receive();
#endif
}
