// expect: sley::await: no coroutine can co_await this
#include <sley/sley.hpp>

#ifdef CORRECTED
int wait(sley::chan<int> c) { return sley::await(c).value_or(0); }
#else
int wait(int n) { return sley::await(n); }
#endif
