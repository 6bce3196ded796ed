// expect: sley: a receive needs a chan or a recv_chan
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(sley::recv_chan<int>(c)));
#else
  sley::select(sley::on_receive(sley::send_chan<int>(c)));
#endif
}
