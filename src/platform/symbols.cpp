#include "platform/symbols.hpp"

#include "platform/build_id.hpp"
#include "platform/loaded_code.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef SLEY_BACKTRACE

// libbacktrace's <backtrace.h>, under the names that cmake/backtrace.cmake gives its functions:
// a program may have a libbacktrace of its own, of another version. Nor do ours leave libsley.so.
extern "C" {
#pragma GCC visibility push(hidden)

using backtrace_error_callback = void (*)(void* arg, const char* message, int error);
using backtrace_full_callback = int (*)(void* arg, std::uintptr_t pc, const char* file, int line,
                                        const char* function);
using backtrace_syminfo_callback = void (*)(void* arg, std::uintptr_t pc, const char* name,
                                            std::uintptr_t start, std::uintptr_t bytes);

backtrace_state* sley_backtrace_create_state(const char* program, int is_threaded,
                                             backtrace_error_callback, void* arg);
int sley_backtrace_pcinfo(backtrace_state*, std::uintptr_t pc, backtrace_full_callback,
                          backtrace_error_callback, void* arg);
int sley_backtrace_syminfo(backtrace_state*, std::uintptr_t pc, backtrace_syminfo_callback,
                           backtrace_error_callback, void* arg);

#pragma GCC visibility pop
}

#endif

namespace sley::platform {

namespace {

std::string_view view_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

bool is_mangled(std::string_view name) noexcept { return name.starts_with("_Z"); }

}  // namespace

// ---- libbacktrace ----

namespace {

#ifdef SLEY_BACKTRACE

void ignore_error(void*, const char*, int) {}

// Around calls of libbacktrace, which is not compiled for the thread sanitizer: the sanitizer sees
// it map and copy memory, and does not see the atomic operations by which one thread hands that
// memory to others. Nothing is lost, because libbacktrace touches only memory of its own, files and
// the local variables that its callbacks get. Visitors are called outside.
class ignored {
 public:
  ignored() noexcept { begin_ignored(); }
  ~ignored() { end_ignored(); }
  ignored(const ignored&) = delete;
  ignored& operator=(const ignored&) = delete;
};

// Null if there is no memory. Making it is one mmap(2): the tables are read by the first lookup,
// and if several threads do that at once, one of them wins and the work of the rest is lost.
backtrace_state* backtrace() noexcept {
  const ignored its_work;
  static backtrace_state* const made =
      sley_backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  return made;
}

// Of a file of another process's.
backtrace_state* make_state(const char* path) noexcept {
  const ignored its_work;
  return sley_backtrace_create_state(path, 0, ignore_error, nullptr);
}

// What is at `at` by the symbol tables of the files, which name local functions and objects too.
frame_name symbol_at(backtrace_state* by, std::uintptr_t at) noexcept {
  frame_name found;
  if (by == nullptr) return found;
  const auto take = [](void* arg, std::uintptr_t, const char* name, std::uintptr_t start,
                       std::uintptr_t) {
    if (name == nullptr) return;
    auto* frame = static_cast<frame_name*>(arg);
    frame->function = name;
    frame->function_start = start;
  };
  const ignored its_work;
  sley_backtrace_syminfo(by, at, take, ignore_error, &found);
  return found;
}

struct walk {
  frame_visitor visit;
  void* arg;
  const frame_name* real;
  int frames;   // their number
  int visited;  // shown to the visitor so far
};

int count_frame(void* arg, std::uintptr_t, const char* file, int, const char* function) {
  // If libbacktrace knows nothing, it calls once with null.
  if (file != nullptr || function != nullptr) ++static_cast<walk*>(arg)->frames;
  return 0;
}

int visit_frame(void* arg, std::uintptr_t, const char* file, int line, const char* function) {
  walk& w = *static_cast<walk*>(arg);
  if (file == nullptr && function == nullptr) return 0;
  frame_name frame = {.function = view_of(function), .file = view_of(file), .line = line};
  frame.is_inlined = ++w.visited < w.frames;
  frame.function_start = w.real->function_start;
  // Debug information has the bare names of local functions, without their namespaces.
  if (!frame.is_inlined && !is_mangled(frame.function) && !w.real->function.empty()) {
    frame.function = w.real->function;
  }
  end_ignored();
  w.visit(w.arg, frame);
  begin_ignored();
  return 0;
}

// False if nothing is known of `at`. Two passes, because only the last frame is the real one.
bool visit_lines(backtrace_state* by, std::uintptr_t at, const frame_name& real,
                 frame_visitor visit, void* arg) noexcept {
  if (by == nullptr) return false;
  walk w = {visit, arg, &real, 0, 0};
  const ignored its_work;
  sley_backtrace_pcinfo(by, at, count_frame, ignore_error, &w);
  if (w.frames > 0) sley_backtrace_pcinfo(by, at, visit_frame, ignore_error, &w);
  return w.visited > 0;
}

#else

backtrace_state* backtrace() noexcept { return nullptr; }
backtrace_state* make_state(const char*) noexcept { return nullptr; }
frame_name symbol_at(backtrace_state*, std::uintptr_t) noexcept { return {}; }
bool visit_lines(backtrace_state*, std::uintptr_t, const frame_name&, frame_visitor,
                 void*) noexcept {
  return false;
}

#endif

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

struct file_search {
  std::uintptr_t at;
  frame_name* frame;
};

// Ends the search at the file that has the address. The program itself has an empty name there.
int complete_if_inside(dl_phdr_info* file, std::size_t, void* arg) noexcept {
  auto* s = static_cast<file_search*>(arg);
  const std::span segments(file->dlpi_phdr, file->dlpi_phnum);
  const bool is_inside = std::ranges::any_of(segments, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && s->at - (file->dlpi_addr + part.p_vaddr) < part.p_memsz;
  });
  if (!is_inside) return 0;
  const bool is_program = *file->dlpi_name == '\0';
  s->frame->file =
      view_of(is_program ? reinterpret_cast<const char*>(getauxval(AT_EXECFN)) : file->dlpi_name);
  s->frame->address_in_file = s->at - file->dlpi_addr;
  s->frame->build_id = find_build_id(segments, file->dlpi_addr);
  return 1;
}

// Adds the dynamic loader's knowledge. False if it has none: `at` is in no file's mapping. Of a
// program that is linked statically dladdr1 knows nothing, but there is still the list of files.
bool complete_by_loader(std::uintptr_t at, frame_name& frame) noexcept {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(at), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0) {
    file_search search = {at, &frame};
    return dl_iterate_phdr(&complete_if_inside, &search) != 0;
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
  frame_name real = symbol_at(backtrace(), at);
  if (visit_lines(backtrace(), at, real, visit, arg)) return;
  if (complete_by_loader(at, real) || !real.function.empty()) visit(arg, real);
}

object_name name_of_object(std::uintptr_t address) noexcept {
  const frame_name found = symbol_at(backtrace(), address);
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

namespace {

// libbacktrace takes a movable file for the program of this process, whose place the loader knows.
std::uintptr_t place_of_program() noexcept {
  std::uintptr_t place = 0;
  const auto take = [](dl_phdr_info* program, std::size_t, void* arg) {
    *static_cast<std::uintptr_t*>(arg) = program->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(take, &place);
  return place;
}

struct moved_visit {
  frame_visitor visit;
  void* arg;
  std::uintptr_t shift;
};

void visit_moved(void* arg, const frame_name& frame) {
  const auto* to = static_cast<const moved_visit*>(arg);
  frame_name moved = frame;
  if (moved.function_start != 0) moved.function_start -= to->shift;
  to->visit(to->arg, moved);
}

}  // namespace

file_symbols::file_symbols(const char* path, std::uintptr_t bias, bool is_movable) noexcept
    : state_(make_state(path)), shift_((is_movable ? place_of_program() : 0) - bias) {}

bool file_symbols::describe(std::uintptr_t pc, frame_visitor visit, void* arg) const noexcept {
  const std::uintptr_t at = pc - 1 + shift_;
  const frame_name real = symbol_at(state_, at);
  moved_visit to = {visit, arg, shift_};
  if (visit_lines(state_, at, real, &visit_moved, &to)) return true;
  if (!real.function.empty()) visit_moved(&to, real);
  return !real.function.empty();
}

object_name file_symbols::name_of_object(std::uintptr_t address) const noexcept {
  const frame_name found = symbol_at(state_, address + shift_);
  return {found.function, found.function.empty() ? 0 : found.function_start - shift_};
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
