// expect: no matching (member )?function for call to .*send
// expect: too many arguments
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<void> c;
#ifdef CORRECTED
  c.send();
#else
  c.send(1);
#endif
}
