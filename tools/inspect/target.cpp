#include "inspect/target.hpp"

#include "platform/os.hpp"

#include <elf.h>

#include <algorithm>

namespace sley::inspect {

const module* target::module_of(std::uint64_t address) const noexcept {
  const auto is_in = [address](const module& m) { return address >= m.begin && address < m.end; };
  const auto found = std::ranges::find_if(modules_, is_in);
  return found == modules_.end() ? nullptr : &*found;
}

namespace {

bool find_tables(const void* self, std::uint64_t address, platform::frame_tables& found) noexcept {
  const module* m = static_cast<const target*>(self)->module_of(address);
  return m != nullptr && m->elf->tables(m->bias, found);
}

std::span<const std::uint8_t> bytes_of(const void* self,
                                       platform::address_range function) noexcept {
  const module* m = static_cast<const target*>(self)->module_of(function.begin);
  if (m == nullptr) return {};
  const auto bytes = m->elf->loaded(function.begin - m->bias, function.end - function.begin);
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

platform::process_code target::code(const void* bottom_return) const noexcept {
  return {&find_tables, &bytes_of, this, bottom_return};
}

namespace {

// The segment that a mapping of the file's begins with says how far the file has been moved. The
// loader maps whole pages.
std::optional<std::uint64_t> bias_of(const elf_file& elf, std::uint64_t begin,
                                     std::uint64_t offset) {
  const std::uint64_t in_page = platform::page_bytes() - 1;
  for (const ElfW(Phdr) & s : elf.segments()) {
    if (s.p_type == PT_LOAD && (s.p_offset & ~in_page) == offset) {
      return begin - (s.p_vaddr & ~in_page);
    }
  }
  return std::nullopt;
}

}  // namespace

void target::set_modules(const std::vector<file_mapping>& mappings) {
  for (const file_mapping& m : mappings) {
    if (!modules_.empty() && modules_.back().path == m.path) {
      modules_.back().end = m.end;
      continue;
    }
    const auto elf = elf_file::open(m.file);
    if (elf == nullptr) continue;
    const auto bias = bias_of(*elf, m.begin, m.offset);
    if (bias) modules_.push_back({m.path, m.file, elf, *bias, m.begin, m.end});
  }
}

}  // namespace sley::inspect
