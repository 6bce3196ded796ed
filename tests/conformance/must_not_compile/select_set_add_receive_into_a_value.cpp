// expect: sley: the function of a case that receives takes a std::optional<T>
#include <sley/sley.hpp>

#include <optional>

void snippet() {
  const sley::chan<int> c;
  sley::select_set set;
#ifdef CORRECTED
  set.add_receive(c, [](std::optional<int>) {});
#else
  set.add_receive(c, [](int) {});
#endif
}
