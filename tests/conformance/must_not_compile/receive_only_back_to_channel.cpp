// expect: (conversion from|no viable conversion).*recv_chan<int>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  const sley::recv_chan<int> back = c;
#else
  const sley::chan<int> back = sley::recv_chan<int>(c);
#endif
}
