#include "platform/symbols.hpp"

#include "platform/build_id.hpp"
#include "platform/line_tables.hpp"
#include "platform/loaded_code.hpp"
#include "platform/os.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace sley::platform {

namespace {

std::string_view view_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

// ---- the dynamic loader ----

namespace {

// Linkers put the headers of a file into the memory where its first bytes are.
std::span<const std::byte> build_id_of(const std::byte* start, std::uintptr_t bias) noexcept {
  ElfW(Ehdr) elf;
  std::memcpy(&elf, start, sizeof elf);
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(start + elf.e_phoff);
  return find_build_id({segments, elf.e_phnum}, bias);
}

struct place_in_file {
  std::uintptr_t at;
  frame_name* frame;
};

// The program itself has an empty name there.
void complete_by_file(void* arg, const loaded_file& file) noexcept {
  const auto* place = static_cast<const place_in_file*>(arg);
  const bool is_program = *file.file == '\0';
  place->frame->file =
      view_of(is_program ? reinterpret_cast<const char*>(getauxval(AT_EXECFN)) : file.file);
  place->frame->address_in_file = place->at - file.bias;
  place->frame->build_id = file.build_id;
}

// Adds the dynamic loader's knowledge. False if it has none: `at` is in no file's mapping. Of a
// program that is linked statically dladdr1 knows nothing, but there is still the list of files.
bool complete_by_loader(std::uintptr_t at, frame_name& frame) noexcept {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(at), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0) {
    place_in_file place = {at, &frame};
    return visit_file_with(at, &complete_by_file, &place);
  }
  frame.file = view_of(info.dli_fname);
  frame.address_in_file = at - map->l_addr;
  frame.build_id = build_id_of(static_cast<const std::byte*>(info.dli_fbase), map->l_addr);
  if (frame.function.empty() && info.dli_sname != nullptr) {
    frame.function = info.dli_sname;
    frame.function_start = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  }
  return true;
}

}  // namespace

// ---- looking up ----

void describe(std::uintptr_t pc, frame_visitor visit, void* arg) noexcept {
  // A return address may be the first of the next line, or of the next function if the call does
  // not return.
  const std::uintptr_t at = pc - 1;
  // No code is in the first page. The debug information of a program that can't be moved has
  // functions there that the linker has left out.
  if (at < page_bytes()) return;
  const line_tables tables = line_tables_with(at);
  frame_name real = symbol_at(tables, at);
  if (visit_lines(tables, at, real, visit, arg)) return;
  if (complete_by_loader(at, real) || !real.function.empty()) visit(arg, real);
}

object_name name_of_object(std::uintptr_t address) noexcept {
  const frame_name found = symbol_at(line_tables_with(address), address);
  return {found.function, found.function_start};
}

namespace {

struct symbols_of_process final : symbol_source {
  void describe(std::uintptr_t pc, frame_visitor visit, void* arg) const noexcept override {
    platform::describe(pc, visit, arg);
  }
  object_name name_of_object(std::uintptr_t address) const noexcept override {
    return platform::name_of_object(address);
  }
  void for_each_code(loaded_code_visitor visit, void* arg) const noexcept override {
    for_each_loaded_code(visit, arg);
  }
};

}  // namespace

const symbol_source& own_symbols() noexcept {
  static constinit const symbols_of_process own;
  return own;
}

// ---- files ----

file_symbols::file_symbols(const char* path, std::uintptr_t bias) noexcept
    : tables_(line_tables_of(path, bias)) {}

bool file_symbols::describe(std::uintptr_t pc, frame_visitor visit, void* arg) const noexcept {
  const frame_name real = symbol_at(tables_, pc - 1);
  if (visit_lines(tables_, pc - 1, real, visit, arg)) return true;
  if (!real.function.empty()) visit(arg, real);
  return !real.function.empty();
}

object_name file_symbols::name_of_object(std::uintptr_t address) const noexcept {
  const frame_name found = symbol_at(tables_, address);
  return {found.function, found.function_start};
}

void describe_by_loader(std::uintptr_t pc, frame_visitor visit, void* arg) noexcept {
  frame_name real;
  if (complete_by_loader(pc - 1, real)) visit(arg, real);
}

bool knows_lines() noexcept {
#ifdef SLEY_BACKTRACE
  return true;
#else
  return false;
#endif
}

// ---- names ----

bool is_mangled(std::string_view name) noexcept { return name.starts_with("_Z"); }

std::string_view demangle(std::string_view name, std::span<char> buffer,
                          bool may_allocate) noexcept {
  if (!may_allocate || !is_mangled(name)) return name;
  using owned_text = std::unique_ptr<char, void (*)(void*)>;
  const owned_text terminated(strndup(name.data(), name.size()), &std::free);
  if (!terminated) return name;
  int status = 0;
  const owned_text all(abi::__cxa_demangle(terminated.get(), nullptr, nullptr, &status),
                       &std::free);
  if (!all) return name;
  return {buffer.data(), std::string_view(all.get()).copy(buffer.data(), buffer.size())};
}

}  // namespace sley::platform
