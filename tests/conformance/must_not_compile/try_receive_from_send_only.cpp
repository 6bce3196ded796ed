// expect: sley: a send_chan only sends: receive from the chan, or from a recv_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
#ifdef CORRECTED
  (void)c.try_receive();
#else
  (void)sley::send_chan<void>(c).try_receive();
#endif
}
