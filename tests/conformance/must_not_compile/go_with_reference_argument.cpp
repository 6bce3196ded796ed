// expect: sley: the callable takes a reference, .* which are copied: pass std::ref\(x\)
#include <sley/sley.hpp>

#include <functional>

void snippet() {
  static int number = 1;
#ifdef CORRECTED
  sley::go([](int& n) { n = 2; }, std::ref(number));
#else
  sley::go([](int& n) { n = 2; }, number);
#endif
}
