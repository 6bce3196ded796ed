// expect: sley::chan<T>: T is a reference: let the channel carry pointers
#include <sley/sley.hpp>

void snippet() {
  static int number = 1;
#ifdef CORRECTED
  const sley::chan<int*> c(1);
  c.send(&number);
  (void)c.receive();
#else
  const sley::chan<int&> c(1);
  c.send(number);
  (void)c.receive();
#endif
}
