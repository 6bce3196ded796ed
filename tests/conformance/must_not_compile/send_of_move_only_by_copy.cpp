// expect: use of deleted function.*unique_ptr
// expect: call to deleted constructor.*unique_ptr
#include <sley/sley.hpp>

#include <memory>
#include <utility>

void snippet() {
  const sley::chan<std::unique_ptr<int>> c;
  auto p = std::make_unique<int>(1);
#ifdef CORRECTED
  c.send(std::move(p));
#else
  c.send(p);
#endif
}
