// expect: (conversion from|no viable conversion).*recv_chan<int>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  const sley::send_chan<int> view = c;
#else
  const sley::send_chan<int> view = sley::recv_chan<int>(c);
#endif
}
