// expect: sley: a recv_chan only receives: send to or close the chan, or a send_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::send_chan<int>(c).close();
#else
  sley::recv_chan<int>(c).close();
#endif
}
