// expect: no matching (member )?function for call to .*add_receive
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
  sley::select_set set;
#ifdef CORRECTED
  set.add_receive(c);
#else
  set.add_receive(sley::send_chan<int>(c));
#endif
}
