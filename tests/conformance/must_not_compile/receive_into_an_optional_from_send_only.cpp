// expect: sley: a send_chan only sends: receive from the chan, or from a recv_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  const std::optional<int> n = sley::recv_chan<int>(c).receive();
#else
  const std::optional<int> n = sley::send_chan<int>(c).receive();
#endif
  (void)n;
}
