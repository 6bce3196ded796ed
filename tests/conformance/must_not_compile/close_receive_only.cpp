// expect: no member named .close.
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::send_chan<int>(c).close();
#else
  sley::recv_chan<int>(c).close();
#endif
}
