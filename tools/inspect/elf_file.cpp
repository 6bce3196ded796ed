#include "inspect/elf_file.hpp"

#include "inspect/note.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

// The head of this program's own file, which linkers define.
extern "C" [[gnu::visibility("hidden")]] const ElfW(Ehdr) __ehdr_start;

namespace sley::inspect {

std::shared_ptr<const elf_file> elf_file::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat facts = {};
  void* place = MAP_FAILED;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    place = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ::close(fd);
  if (place == MAP_FAILED) return nullptr;
  std::shared_ptr<elf_file> file(
      new elf_file(static_cast<const std::byte*>(place), static_cast<std::size_t>(facts.st_size)));
  return file->look() ? file : nullptr;
}

elf_file::~elf_file() { ::munmap(const_cast<std::byte*>(bytes_), size_); }

bool elf_file::look() noexcept {
  if (size_ < sizeof head_) return false;
  std::memcpy(&head_, bytes_, sizeof head_);
  if (std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 || head_.e_ident[EI_CLASS] != ELFCLASS64 ||
      head_.e_machine != __ehdr_start.e_machine || head_.e_phoff % alignof(ElfW(Phdr)) != 0) {
    return false;
  }
  std::uint64_t count = head_.e_phnum;
  if (count == PN_XNUM) {  // a core with very many mappings: the first section says how many
    const auto first = part(head_.e_shoff, sizeof(ElfW(Shdr)));
    if (first.empty()) return false;
    ElfW(Shdr) section;
    std::memcpy(&section, first.data(), sizeof section);
    count = section.sh_info;
  }
  const auto table = part(head_.e_phoff, count * sizeof(ElfW(Phdr)));
  if (table.empty()) return false;
  segments_ = {reinterpret_cast<const ElfW(Phdr)*>(table.data()), count};
  return true;
}

std::span<const std::byte> elf_file::part(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (offset > size_ || size > size_ - offset) return {};
  return {bytes_ + offset, size};
}

std::span<const std::byte> elf_file::contents(const ElfW(Phdr) & segment) const noexcept {
  return part(segment.p_offset, segment.p_filesz);
}

std::optional<std::uint64_t> elf_file::address_of_section(std::string_view name) const noexcept {
  const auto table = part(head_.e_shoff, std::uint64_t{head_.e_shnum} * sizeof(ElfW(Shdr)));
  const auto section = [&table](std::size_t i) {
    ElfW(Shdr) s;
    std::memcpy(&s, table.data() + i * sizeof s, sizeof s);
    return s;
  };
  if (table.empty() || head_.e_shstrndx >= head_.e_shnum) return std::nullopt;
  const ElfW(Shdr) of_names = section(head_.e_shstrndx);
  const auto names = part(of_names.sh_offset, of_names.sh_size);
  for (std::size_t i = 0; i < head_.e_shnum; ++i) {
    const ElfW(Shdr) s = section(i);
    if (s.sh_name >= names.size() || names.size() - s.sh_name <= name.size()) continue;
    const auto* text = reinterpret_cast<const char*>(names.data() + s.sh_name);
    if (std::string_view(text, name.size()) == name && text[name.size()] == '\0') return s.sh_addr;
  }
  return std::nullopt;
}

std::span<const std::byte> elf_file::build_id() const noexcept {
  std::span<const std::byte> found;
  for (const ElfW(Phdr) & s : segments_) {
    if (s.p_type != PT_NOTE) continue;
    for_each_note(contents(s), s.p_align, [&found](auto type, std::string_view name, auto id) {
      if (type == NT_GNU_BUILD_ID && name == "GNU") found = id;
    });
  }
  return found;
}

bool elf_file::tables(std::uint64_t bias, platform::frame_tables& found) const noexcept {
  for (const ElfW(Phdr) & header : segments_) {
    if (header.p_type != PT_GNU_EH_FRAME) continue;
    for (const ElfW(Phdr) & s : segments_) {
      if (s.p_type != PT_LOAD || header.p_vaddr - s.p_vaddr >= s.p_filesz) continue;
      const auto bytes = contents(s);
      found = {{bytes.data(), bytes.size(), bias + s.p_vaddr}, bias + header.p_vaddr};
      return !bytes.empty();
    }
  }
  return false;
}

std::span<const std::byte> elf_file::loaded(std::uint64_t address,
                                            std::size_t size) const noexcept {
  for (const ElfW(Phdr) & s : segments_) {
    if (s.p_type != PT_LOAD || address < s.p_vaddr) continue;
    const auto bytes = contents(s);
    const std::uint64_t offset = address - s.p_vaddr;
    if (offset <= bytes.size() && size <= bytes.size() - offset) return bytes.subspan(offset, size);
  }
  return {};
}

bool elf_file::read(std::uint64_t address, void* to, std::size_t size) const noexcept {
  const auto bytes = loaded(address, size);
  if (bytes.size() != size) return false;
  std::ranges::copy(bytes, static_cast<std::byte*>(to));
  return true;
}

}  // namespace sley::inspect
