// expect: sley: the value does not convert to what the channel carries
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  c.send(1);
#else
  c.send("text");
#endif
}
