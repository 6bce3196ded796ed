// How a test's program is linked.
#pragma once

#include <sys/auxv.h>

namespace sley_test {

// Whether it is linked statically: no dynamic loader has started it, and none knows names of it.
inline bool is_linked_statically() { return ::getauxval(AT_BASE) == 0; }

}  // namespace sley_test
