// expect: no matching (member )?function for call to .*send
// expect: too few arguments
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  c.send(1);
#else
  c.send();
#endif
}
