#include "platform/unwind/own_process.hpp"

#include "platform/context.hpp"
#include "platform/cpu.hpp"
#include "platform/system_call.hpp"

#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace {

// struct dl_find_object of glibc 2.35's <dlfcn.h>, for CPUs whose objects need no base of data
// (DLFO_STRUCT_HAS_EH_DBASE).
struct found_object {
  unsigned long long flags;
  std::uint64_t begin;
  std::uint64_t end;
  link_map* map;
  std::uint64_t header;  // the address of its .eh_frame_hdr, or 0
  unsigned long long reserved[7];

  bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

}  // namespace

// Under a name of its own, because <dlfcn.h> declares it where glibc has it, and not as weak.
extern "C" [[gnu::weak]] int sley_dl_find_object(void* address, void* found) asm("_dl_find_object");

namespace sley::platform {

// ---- tables ----

namespace {

frame_tables tables_in(std::uint64_t begin, std::uint64_t end, std::uint64_t header) noexcept {
  return {{reinterpret_cast<const std::byte*>(begin), end - begin, begin}, header};
}

struct search {
  std::uint64_t address;
  frame_tables* tables;
};

// Is it this object? Then the loader's list ends here.
int look_at_object(dl_phdr_info* object, std::size_t, void* arg) noexcept {
  const auto* s = static_cast<const search*>(arg);
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t header = 0;
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uint64_t from = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) header = from;
    if (part.p_type != PT_LOAD) continue;
    begin = std::min(begin, from);
    end = std::max(end, from + part.p_memsz);
  }
  if (s->address < begin || s->address >= end) return 0;
  if (header != 0) *s->tables = tables_in(begin, end, header);
  return 1;
}

}  // namespace

bool find_own_tables_by_list(std::uint64_t address, frame_tables& tables) noexcept {
  tables = {};
  search s{address, &tables};
  dl_iterate_phdr(&look_at_object, &s);
  return tables.header != 0;
}

namespace {

// False: no object has the address.
bool find_object(std::uint64_t address, found_object& found) noexcept {
  return sley_dl_find_object(reinterpret_cast<void*>(address), &found) == 0;
}

}  // namespace

bool finds_own_tables_without_lock() noexcept { return &sley_dl_find_object != nullptr; }

// Where other memory may lie between the segments of an object, glibc tells the bounds of one
// segment: in a program that is linked statically, and in programs and loaders that are laid out
// for larger pages than the kernel's. All tables are in the segment that the header is in.
bool find_own_tables(std::uint64_t address, frame_tables& tables) noexcept {
  if (!finds_own_tables_without_lock()) return find_own_tables_by_list(address, tables);
  found_object found;
  if (!find_object(address, found) || found.header == 0) return false;
  const std::uint64_t header = found.header;
  if (!found.holds(header) && !find_object(header, found)) return false;
  tables = tables_in(found.begin, found.end, header);
  return true;
}

namespace {

bool find_tables(const void*, std::uint64_t address, frame_tables& tables) noexcept {
  return find_own_tables(address, tables);
}

std::span<const std::uint8_t> bytes_of(const void*, address_range function) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(function.begin), function.end - function.begin};
}

}  // namespace

constinit const process_code own_code = {&find_tables, &bytes_of, nullptr, &sley_goroutine_started};

// ---- memory ----

namespace {

// The kernel reads a set of signals there before it looks at what to do with it, which is no such
// thing. (Null is no set.)
bool is_readable_word(std::uint64_t address) noexcept {
  constexpr long nothing = -1;
  return raw_system_call(SYS_rt_sigprocmask, nothing, static_cast<long>(address), 0,
                         sizeof(std::uint64_t), 0, 0) == -EINVAL;
}

// For sandboxes and emulators. The memory must not go away between the question, once a page, and
// the loads.
std::size_t copy_by_loads(std::uint64_t address, std::byte* to, std::size_t size) noexcept {
  constexpr std::uint64_t smallest_page = 4096;
  std::size_t copied = 0;
  while (copied < size) {
    const std::uint64_t in_word = (address + copied) % sizeof(std::uint64_t);
    const std::uint64_t at = address + copied - in_word;
    const bool is_known = copied != 0 && at % smallest_page != 0;
    if (!is_known && !is_readable_word(at)) break;
    const std::uint64_t word = load_word(at);
    const std::size_t part = std::min(sizeof(word) - in_word, size - copied);
    std::memcpy(to + copied, reinterpret_cast<const std::byte*>(&word) + in_word, part);
    copied += part;
  }
  return copied;
}

// Returns how many of the bytes can be read.
std::size_t copy_by_kernel(std::uint64_t address, void* to, std::size_t size) noexcept {
  const iovec here{to, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  const long n = raw_system_call(SYS_process_vm_readv, getpid(), reinterpret_cast<long>(&here), 1,
                                 reinterpret_cast<long>(&there), 1, 0);
  if (n == -ENOSYS || n == -EPERM) return copy_by_loads(address, static_cast<std::byte*>(to), size);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

bool read_by_kernel(std::uint64_t address, void* to, std::size_t size) noexcept {
  return copy_by_kernel(address, to, size) == size;
}

bool read_own(const void* arg, std::uint64_t address, void* to, std::size_t size) noexcept {
  const auto* stack = static_cast<const own_stack*>(arg);
  const bool is_inside = stack->holds(address) && stack->end - address >= sizeof(std::uint64_t);
  if (!is_inside) return read_by_kernel(address, to, size);
  const std::uint64_t word = load_word(address);
  std::memcpy(to, &word, size);  // the CPU is little-endian
  return true;
}

}  // namespace

stack_memory own_stack::memory() const noexcept { return {&read_own, this}; }

stack_copy::stack_copy(std::uint64_t stack_pointer) noexcept
    : begin_(stack_pointer), size_(copy_by_kernel(stack_pointer, bytes_, most_bytes)) {}

bool stack_copy::read(const void* self, std::uint64_t address, void* to,
                      std::size_t size) noexcept {
  const auto* copy = static_cast<const stack_copy*>(self);
  const std::uint64_t place = address - copy->begin_;
  if (place >= copy->size_ || copy->size_ - place < size) return read_by_kernel(address, to, size);
  std::memcpy(to, copy->bytes_ + place, size);
  return true;
}

// ---- registers ----

frame_registers registers_of(const context& saved) noexcept {
  frame_registers r;
  r.set(column_sp, reinterpret_cast<std::uint64_t>(saved.stack_pointer));
  r.set(column_frame_pointer, reinterpret_cast<std::uint64_t>(saved.frame_pointer));
  r.set(column_pc, reinterpret_cast<std::uint64_t>(saved.resume_at));
  r.is_interrupted = true;  // also at the start of a goroutine, whose address begins a function
  return r;
}

}  // namespace sley::platform
