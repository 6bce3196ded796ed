#include "support/landing_pads.hpp"

#ifdef __ARM_FEATURE_BTI_DEFAULT

#include "platform/os.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <link.h>
#include <sys/mman.h>

namespace sley_test {
namespace {

// The first object is the program.
int protect_program(dl_phdr_info* object, std::size_t, void* protection) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t page = sley::platform::page_bytes();
    const std::uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    if (::mprotect(reinterpret_cast<void*>(begin), end - begin, *static_cast<int*>(protection)) !=
        0) {
      std::abort();
    }
  }
  return 1;
}

void protect_program_with(int protection) { ::dl_iterate_phdr(protect_program, &protection); }

}  // namespace

void demand_landing_pads() {
  protect_program_with(PROT_READ | PROT_EXEC | PROT_BTI);
  // After this libc calls the program's functions of its own start code, which has no such places.
  std::atexit([] { protect_program_with(PROT_READ | PROT_EXEC); });
}

}  // namespace sley_test

#else

void sley_test::demand_landing_pads() {}

#endif
