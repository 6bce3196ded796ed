// expect: sley: the callable takes a reference, .* which are copied: pass std::ref\(x\)
#include <sley/sley.hpp>

#include <functional>

void add_to(int& number);

void snippet() {
  static int number = 1;
#ifdef CORRECTED
  sley::go({.name = "adds"}, add_to, std::ref(number));
#else
  sley::go({.name = "adds"}, add_to, number);
#endif
}
