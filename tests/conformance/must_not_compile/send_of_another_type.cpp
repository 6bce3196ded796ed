// expect: invalid conversion from .const char\*. to .*int
// expect: no matching member function for call to .send.
// expect: cannot initialize a parameter of type .*int
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  c.send(1);
#else
  c.send("text");
#endif
}
