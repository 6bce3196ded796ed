// expect: sley: the value does not convert to what the channel carries
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
  sley::select_set set;
#ifdef CORRECTED
  set.add_send(c, 1);
#else
  set.add_send(c, "text");
#endif
}
