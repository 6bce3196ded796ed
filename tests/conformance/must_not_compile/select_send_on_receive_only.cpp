// expect: sley: a send needs a chan or a send_chan
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c(1);
#ifdef CORRECTED
  sley::select(sley::on_send(sley::send_chan<int>(c), 1));
#else
  sley::select(sley::on_send(sley::recv_chan<int>(c), 1));
#endif
}
