// The notes in a segment of an ELF file.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace sley::inspect {

// Calls f(type, name, contents) for each. `align` is the segment's.
template <class F>
void for_each_note(std::span<const std::byte> notes, std::size_t align, F f) {
  const auto whole = [align = std::max<std::size_t>(align, 4)](std::size_t bytes) {
    return (bytes + align - 1) / align * align;
  };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t contents = whole(sizeof head + head.n_namesz);
    const std::size_t end = contents + head.n_descsz;
    if (end > notes.size()) return;
    const char* name = reinterpret_cast<const char*>(notes.data() + sizeof head);
    f(head.n_type, std::string_view(name, head.n_namesz == 0 ? 0 : head.n_namesz - 1),
      notes.subspan(contents, head.n_descsz));
    notes = notes.subspan(std::min(whole(end), notes.size()));
  }
}

}  // namespace sley::inspect
