#include "platform/keep_loaded.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

// A program that is linked statically has no loader, and must not be given one for this.
#pragma weak dlopen

namespace sley::platform {

namespace {

bool contains(const dl_phdr_info& object, const void* place) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
    if (address >= start && address - start < segment.p_memsz) return true;
  }
  return false;
}

// Ends the search at the object that this function is in. The program itself has an empty name.
int find_own_name(dl_phdr_info* object, std::size_t, void* name) noexcept {
  if (!contains(*object, reinterpret_cast<const void*>(&keep_loaded))) return 0;
  *static_cast<const char**>(name) = object->dlpi_name;
  return 1;
}

}  // namespace

void keep_loaded() noexcept {
  const char* name = nullptr;
  dl_iterate_phdr(&find_own_name, &name);
  if (dlopen == nullptr || name == nullptr || *name == '\0') return;
  // The handle is dropped: only the object's new mark counts.
  dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace sley::platform
