// expect: sley::chan<T>: T is const or volatile: a channel's values are moved
#include <sley/sley.hpp>

#include <string>

void snippet() {
#ifdef CORRECTED
  const sley::chan<std::string> c(1);
  c.send("text");
  for (const std::string& s : c) (void)s;
#else
  const sley::chan<const std::string> c(1);
  c.send("text");
  for (const std::string& s : c) (void)s;
#endif
}
