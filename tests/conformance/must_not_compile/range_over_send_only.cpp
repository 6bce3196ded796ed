// expect: use of deleted function .*send_chan<T>::begin\(\)
// expect: invalid range expression of type .sley::send_chan<int>
// expect: attempt to use a deleted function
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  for (int value : sley::recv_chan<int>(c)) (void)value;
#else
  for (int value : sley::send_chan<int>(c)) (void)value;
#endif
}
