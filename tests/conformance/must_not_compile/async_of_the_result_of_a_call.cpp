// expect: sley: what a goroutine is to call is no function: write go\(f, x\), not go\(f\(x\)\)
#include <sley/sley.hpp>

int work(int n);

void snippet() {
#ifdef CORRECTED
  auto f = sley::async(work, 1);
#else
  auto f = sley::async(work(1));
#endif
}
