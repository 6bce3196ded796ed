// A program, library or core as a file: its segments, a section by name, its build id. What the
// file says is checked against its size, so a damaged file is none, and never a fault.
#pragma once

#include "platform/unwind/description.hpp"

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sley::inspect {

class elf_file {
 public:
  // Null: there is no such file, or it is none for this CPU.
  static std::shared_ptr<const elf_file> open(const std::string& path);
  ~elf_file();
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;

  bool is_core() const noexcept { return head_.e_type == ET_CORE; }
  std::span<const ElfW(Phdr)> segments() const noexcept { return segments_; }
  // What the file has of a segment.
  std::span<const std::byte> contents(const ElfW(Phdr) & segment) const noexcept;
  // The address of a section in the file; nothing if it has none.
  std::optional<std::uint64_t> address_of_section(std::string_view name) const noexcept;
  std::span<const std::byte> build_id() const noexcept;
  // The unwind tables, of a file that has been loaded `bias` bytes behind where it says.
  bool tables(std::uint64_t bias, platform::frame_tables& found) const noexcept;
  // Memory as it was loaded. Empty: not all of it is in the file.
  std::span<const std::byte> loaded(std::uint64_t address, std::size_t size) const noexcept;
  // The same as a copy. False: not all of it is in the file.
  bool read(std::uint64_t address, void* to, std::size_t size) const noexcept;

 private:
  elf_file(const std::byte* bytes, std::size_t size) noexcept : bytes_(bytes), size_(size) {}
  bool look() noexcept;
  std::span<const std::byte> part(std::uint64_t offset, std::uint64_t size) const noexcept;

  const std::byte* bytes_;
  std::size_t size_;
  ElfW(Ehdr) head_ = {};
  std::span<const ElfW(Phdr)> segments_;
};

}  // namespace sley::inspect
