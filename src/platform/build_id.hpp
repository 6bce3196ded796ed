// The build id of a program or library: the note by which a file is the same one, however it was
// stripped.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

// In the loaded segments of a file, which lie `bias` bytes behind where their headers say. Empty if
// it has none.
std::span<const std::byte> find_build_id(std::span<const ElfW(Phdr)> segments,
                                         std::uintptr_t bias) noexcept;

}  // namespace sley::platform
