// expect: no matching function for call to .*on_receive
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(sley::recv_chan<int>(c)));
#else
  sley::select(sley::on_receive(sley::send_chan<int>(c)));
#endif
}
