#include "platform/loaded_code.hpp"

#include "platform/build_id.hpp"
#include "platform/os.hpp"

#include <link.h>

#include <algorithm>

namespace sley::platform {

namespace {

struct visit_by_list {
  loaded_code_visitor visit;
  void* arg;

  // The loader maps whole pages.
  static int look_at_object(dl_phdr_info* object, std::size_t, void* arg) noexcept {
    const auto* self = static_cast<const visit_by_list*>(arg);
    const std::span segments(object->dlpi_phdr, object->dlpi_phnum);
    const std::uintptr_t in_page = page_bytes() - 1;
    loaded_code code;
    code.file = object->dlpi_name;
    code.build_id = find_build_id(segments, object->dlpi_addr);
    for (const ElfW(Phdr) & s : segments) {
      if (s.p_type != PT_LOAD || (s.p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = object->dlpi_addr + s.p_vaddr;
      code.begin = begin & ~in_page;
      code.end = (begin + s.p_memsz + in_page) & ~in_page;
      code.file_offset = s.p_offset & ~in_page;
      self->visit(self->arg, code);
    }
    return 0;
  }
};

struct search_by_address {
  std::uintptr_t address;
  loaded_file_visitor visit;
  void* arg;

  // Ends the search at the file that has the address.
  static int look_at_object(dl_phdr_info* object, std::size_t, void* arg) noexcept {
    const auto* self = static_cast<const search_by_address*>(arg);
    const std::span segments(object->dlpi_phdr, object->dlpi_phnum);
    loaded_file file;
    file.begin = UINTPTR_MAX;
    bool is_inside = false;
    for (const ElfW(Phdr) & s : segments) {
      if (s.p_type != PT_LOAD) continue;
      const std::uintptr_t begin = object->dlpi_addr + s.p_vaddr;
      file.begin = std::min(file.begin, begin);
      file.end = std::max(file.end, begin + s.p_memsz);
      is_inside = is_inside || self->address - begin < s.p_memsz;
    }
    if (!is_inside) return 0;
    file.bias = object->dlpi_addr;
    file.file = object->dlpi_name;
    file.build_id = find_build_id(segments, object->dlpi_addr);
    self->visit(self->arg, file);
    return 1;
  }
};

}  // namespace

bool visit_file_with(std::uintptr_t address, loaded_file_visitor visit, void* arg) noexcept {
  search_by_address search{address, visit, arg};
  return dl_iterate_phdr(&search_by_address::look_at_object, &search) != 0;
}

void for_each_loaded_code(loaded_code_visitor visit, void* arg) noexcept {
  visit_by_list all{visit, arg};
  dl_iterate_phdr(&visit_by_list::look_at_object, &all);
}

}  // namespace sley::platform
