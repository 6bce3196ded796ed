// expect: sley: a send_chan only sends: receive from the chan, or from a recv_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  for (int value : sley::recv_chan<int>(c)) (void)value;
#else
  for (int value : sley::send_chan<int>(c)) (void)value;
#endif
}
