// expect: sley: a send_chan only sends: receive from the chan, or from a recv_chan of it
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
  const auto ctx = sley::context::background();
#ifdef CORRECTED
  const bool is_open = sley::recv_chan<void>(c).receive(ctx);
#else
  const bool is_open = sley::send_chan<void>(c).receive(ctx);
#endif
  (void)is_open;
}
