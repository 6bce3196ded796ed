// expect: use of deleted function
// expect: call to (implicitly-)?deleted
#include <sley/sley.hpp>

#include <utility>

void snippet() {
  sley::future<int> f;
#ifdef CORRECTED
  sley::future<int> other = std::move(f);
#else
  sley::future<int> other = f;
#endif
}
