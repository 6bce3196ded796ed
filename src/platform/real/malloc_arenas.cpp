// The limit of malloc's arenas, in glibc. A simulated process has one thread.
#include "platform/malloc_arenas.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>

// Declared here and weak, because a libc may have no such function, and because a program that is
// linked statically with another allocator must not be given libc's malloc as well.
extern "C" [[gnu::weak]] int mallopt(int what, int value) noexcept;

namespace sley::platform {

namespace {

// As glibc reads them: not at all in a program that runs with others' rights.
bool environment_has_setting() noexcept {
  if (secure_getenv("MALLOC_ARENA_MAX") != nullptr) return true;
  if (secure_getenv("MALLOC_ARENA_TEST") != nullptr) return true;
  const char* tunables = secure_getenv("GLIBC_TUNABLES");
  return tunables != nullptr && has_arena_setting(tunables);
}

}  // namespace

void limit_malloc_arenas(std::uint32_t arenas) noexcept {
  constexpr int arena_max = -8;  // M_ARENA_MAX of glibc's <malloc.h>
  if (mallopt == nullptr || environment_has_setting()) return;
  mallopt(arena_max, static_cast<int>(std::clamp<std::uint32_t>(arenas, 1, INT_MAX)));
}

}  // namespace sley::platform
