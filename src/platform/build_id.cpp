#include "platform/build_id.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sley::platform {

namespace {

// Of one segment of notes: each has a head, a name and contents, which begin at multiples of
// `align`.
std::span<const std::byte> build_id_in(std::span<const std::byte> notes,
                                       std::size_t align) noexcept {
  constexpr std::string_view gnu("GNU", 4);
  const auto whole = [align](std::size_t bytes) { return (bytes + align - 1) / align * align; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t contents = whole(sizeof head + head.n_namesz);
    const std::size_t end = contents + head.n_descsz;
    if (end > notes.size()) break;
    const std::string_view name(reinterpret_cast<const char*>(notes.data() + sizeof head),
                                head.n_namesz);
    if (head.n_type == NT_GNU_BUILD_ID && name == gnu) {
      return notes.subspan(contents, head.n_descsz);
    }
    notes = notes.subspan(std::min(whole(end), notes.size()));
  }
  return {};
}

}  // namespace

std::span<const std::byte> find_build_id(std::span<const ElfW(Phdr)> segments,
                                         std::uintptr_t bias) noexcept {
  for (const ElfW(Phdr) & s : segments) {
    if (s.p_type != PT_NOTE) continue;
    constexpr std::size_t usual = 4;
    const auto* notes = reinterpret_cast<const std::byte*>(bias + s.p_vaddr);
    const auto id = build_id_in({notes, s.p_memsz}, std::max<std::size_t>(s.p_align, usual));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace sley::platform
