// expect: sley: the value cannot be copied into the channel: pass std::move\(x\)
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
