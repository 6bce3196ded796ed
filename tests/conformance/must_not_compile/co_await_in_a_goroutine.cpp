// expect: unable to find the promise type for this coroutine
// expect: this function cannot be a coroutine
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::go([c]() -> void { (void)sley::await(c); });
#else
  sley::go([c]() -> void { co_await c; });
#endif
}
