// expect: no member named .try_receive.
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
#ifdef CORRECTED
  (void)c.try_receive();
#else
  (void)sley::send_chan<void>(c).try_receive();
#endif
}
