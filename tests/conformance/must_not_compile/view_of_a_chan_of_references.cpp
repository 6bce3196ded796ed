// expect: sley::chan<T>: T is a reference: let the channel carry pointers
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  const sley::recv_chan<int*> c;
  (void)c.receive();
#else
  const sley::recv_chan<int&> c;
  (void)c.receive();
#endif
}
