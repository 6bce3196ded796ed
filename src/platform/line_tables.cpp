#include "platform/line_tables.hpp"

#ifdef SLEY_BACKTRACE

#include "base/published.hpp"
#include "platform/loaded_code.hpp"
#include "platform/sanitizer.hpp"

#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

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
// What it calls instead of dl_iterate_phdr.
int sley_backtrace_dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* arg);

#pragma GCC visibility pop
}

namespace sley::platform {

namespace {

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

// ---- reading ----

// Null as the path is the program. libbacktrace would take the program in place of a file that it
// can't open.
backtrace_state* read_tables(const char* path) noexcept {
  if (path != nullptr && access(path, R_OK) != 0) return nullptr;
  const ignored its_work;
  backtrace_state* tables = sley_backtrace_create_state(path, 1, ignore_error, nullptr);
  if (tables == nullptr) return nullptr;
  // The first question makes it read.
  const auto nothing = [](void*, std::uintptr_t, const char*, std::uintptr_t, std::uintptr_t) {};
  sley_backtrace_syminfo(tables, 0, nothing, ignore_error, nullptr);
  return tables;
}

// ---- the files of this process ----

struct read_file {
  std::uintptr_t begin = 0;
  line_tables tables;
  base::published<std::uintptr_t> end;  // 0: not there yet
};

constinit std::array<read_file, 256> files;
constinit detail::atomic<std::size_t> taken_files{0};  // more than there are, once all are taken

const read_file* find_file(std::uintptr_t at) noexcept {
  const std::size_t taken = std::min(taken_files.load_relaxed(), files.size());
  for (const read_file& file : std::span(files).first(taken)) {
    if (at < file.end.read() && at >= file.begin) return &file;
  }
  return nullptr;
}

// What the dynamic loader says of a file, whose path is copied because it may be unloaded.
struct found_file {
  loaded_file file;
  std::array<char, PATH_MAX> path;
};

void copy_found(void* arg, const loaded_file& file) noexcept {
  auto* found = static_cast<found_file*>(arg);
  found->file = file;
  const std::string_view path = file.file;
  found->path[path.copy(found->path.data(), found->path.size() - 1)] = '\0';
}

}  // namespace

// The loader's lock is not held while the tables are read, which takes long: a thread may be
// stopped there, and other threads may want the lock meanwhile.
line_tables line_tables_with(std::uintptr_t address) noexcept {
  if (const read_file* known = find_file(address); known != nullptr) return known->tables;
  found_file found;
  if (!visit_file_with(address, &copy_found, &found)) return {};
  if (taken_files.load_relaxed() >= files.size()) return {};
  const bool is_program = found.path[0] == '\0';
  const line_tables tables = {read_tables(is_program ? nullptr : found.path.data()),
                              found.file.bias};
  const std::size_t place = taken_files.add_relaxed(1);
  if (place >= files.size()) return tables;
  files[place].begin = found.file.begin;
  files[place].tables = tables;
  files[place].end.publish(found.file.end);
  return tables;
}

line_tables line_tables_of(const char* path, std::uintptr_t bias) noexcept {
  return {read_tables(path), bias};
}

// ---- asking ----

frame_name symbol_at(const line_tables& tables, std::uintptr_t at) noexcept {
  frame_name found;
  if (tables.state == nullptr) return found;
  const auto take = [](void* arg, std::uintptr_t, const char* name, std::uintptr_t start,
                       std::uintptr_t) {
    if (name == nullptr) return;
    auto* frame = static_cast<frame_name*>(arg);
    frame->function = name;
    frame->function_start = start;
  };
  const ignored its_work;
  sley_backtrace_syminfo(tables.state, at - tables.bias, take, ignore_error, &found);
  if (!found.function.empty()) found.function_start += tables.bias;
  return found;
}

namespace {

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
  frame_name frame;
  if (function != nullptr) frame.function = function;
  if (file != nullptr) frame.file = file;
  frame.line = line;
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

}  // namespace

// Two passes, because only the last frame is the real one.
bool visit_lines(const line_tables& tables, std::uintptr_t at, const frame_name& real,
                 frame_visitor visit, void* arg) noexcept {
  if (tables.state == nullptr) return false;
  walk w = {visit, arg, &real, 0, 0};
  const ignored its_work;
  const std::uintptr_t in_file = at - tables.bias;
  sley_backtrace_pcinfo(tables.state, in_file, count_frame, ignore_error, &w);
  if (w.frames > 0) sley_backtrace_pcinfo(tables.state, in_file, visit_frame, ignore_error, &w);
  return w.visited > 0;
}

}  // namespace sley::platform

// The file that is read, under the name that stands for the one that libbacktrace has opened, and
// at the addresses that it was linked for.
int sley_backtrace_dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* arg) {
  dl_phdr_info file = {};
  file.dlpi_name = "";
  return visit(&file, sizeof file, arg);
}

#else

namespace sley::platform {

line_tables line_tables_with(std::uintptr_t) noexcept { return {}; }
line_tables line_tables_of(const char*, std::uintptr_t) noexcept { return {}; }
frame_name symbol_at(const line_tables&, std::uintptr_t) noexcept { return {}; }
bool visit_lines(const line_tables&, std::uintptr_t, const frame_name&, frame_visitor,
                 void*) noexcept {
  return false;
}

}  // namespace sley::platform

#endif
