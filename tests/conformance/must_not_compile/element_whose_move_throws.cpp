// expect: T must be nothrow move constructible
#include <sley/sley.hpp>

struct element {
  element() = default;
#ifdef CORRECTED
  element(element&&) noexcept {}
#else
  element(element&&) {}
#endif
};

void snippet() {
#ifdef CORRECTED
  const sley::chan<element> c;
  (void)c.receive();
#else
  const sley::chan<element> c;
  (void)c.receive();
#endif
}
