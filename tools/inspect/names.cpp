#include "inspect/names.hpp"

#include "platform/loaded_code.hpp"

namespace sley::inspect {

const platform::file_symbols& target_names::symbols_of(const module& m) const {
  auto& symbols = symbols_[&m];
  if (symbols == nullptr) {
    symbols = std::make_unique<platform::file_symbols>(m.file.c_str(), m.bias);
  }
  return *symbols;
}

void target_names::describe(std::uintptr_t pc, platform::frame_visitor visit,
                            void* arg) const noexcept {
  const module* m = of_.module_of(pc - 1);
  if (m == nullptr || symbols_of(*m).describe(pc, visit, arg)) return;
  platform::frame_name nameless;
  nameless.file = m->path;
  nameless.address_in_file = pc - 1 - m->bias;
  nameless.build_id = m->elf->build_id();
  visit(arg, nameless);
}

platform::object_name target_names::name_of_object(std::uintptr_t address) const noexcept {
  const module* m = of_.module_of(address);
  return m == nullptr ? platform::object_name() : symbols_of(*m).name_of_object(address);
}

void target_names::for_each_code(void (*visit)(void* arg, const platform::loaded_code& code),
                                 void* arg) const noexcept {
  for (const module& m : of_.modules()) {
    platform::loaded_code code;
    code.file = m.path.c_str();
    code.build_id = m.elf->build_id();
    for (const ElfW(Phdr) & s : m.elf->segments()) {
      if (s.p_type != PT_LOAD || (s.p_flags & PF_X) == 0) continue;
      code.begin = m.bias + s.p_vaddr;
      code.end = code.begin + s.p_memsz;
      code.file_offset = s.p_offset;
      visit(arg, code);
    }
  }
}

}  // namespace sley::inspect
