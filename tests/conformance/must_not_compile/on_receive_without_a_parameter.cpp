// expect: sley: the function of a case that receives takes a std::optional<T>
#include <sley/sley.hpp>

void snippet() {
  const sley::chan<int> c;
#ifdef CORRECTED
  sley::select(sley::on_receive(c, [](auto) {}));
#else
  sley::select(sley::on_receive(c, [] {}));
#endif
}
