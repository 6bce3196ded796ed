// expect: (conversion from|no viable conversion).*chan<int>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  const sley::recv_chan<int> view = c;
#else
  const sley::recv_chan<long> view = c;
#endif
}
