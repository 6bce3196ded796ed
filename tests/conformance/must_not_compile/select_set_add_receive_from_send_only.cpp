// expect: sley: a receive needs a chan or a recv_chan
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
  sley::select_set set;
#ifdef CORRECTED
  set.add_receive(c);
#else
  set.add_receive(sley::send_chan<int>(c));
#endif
}
