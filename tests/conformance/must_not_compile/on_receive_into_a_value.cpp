// expect: sley: the function of a case that receives takes a std::optional<T>
#include <sley/sley.hpp>

#include <optional>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(c, [](std::optional<int>) {}));
#else
  sley::select(sley::on_receive(c, [](int) {}));
#endif
}
