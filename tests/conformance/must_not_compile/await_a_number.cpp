// expect: no matching function for call to
#include <sley/sley.hpp>

#ifdef CORRECTED
int wait(sley::chan<int> c) { return sley::await(c).value(); }
#else
int wait(int n) { return sley::await(n).value(); }
#endif
