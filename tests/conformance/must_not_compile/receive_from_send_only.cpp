// expect: no member named .receive.
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  (void)c.receive();
#else
  (void)sley::send_chan<int>(c).receive();
#endif
}
