// Names for program counters, for dumps of goroutines and last words.
//
// Source lines come from the debug information, which libbacktrace reads; a build without it knows
// what the dynamic loader knows, which is little of a program but much of its libraries. Neither
// calls malloc: in a fatal error a thread that never goes on may hold malloc's locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

struct backtrace_state;

namespace sley::platform {

struct loaded_code;

struct frame_name {
  std::string_view function;  // as the linker names it, see demangle; empty if unknown
  std::string_view file;      // the source; where the line is unknown, the program or library
  int line = 0;               // 0 if unknown
  bool is_inlined = false;    // into the function of a later visit
  // Where the function begins, or the function that it is inlined into; 0 if unknown.
  std::uintptr_t function_start = 0;
  // Only where the line is unknown: what `addr2line -e FILE` takes, for this file and for the same
  // with debug information, and what tells whether a file is the same (`readelf -n`).
  std::uintptr_t address_in_file = 0;
  std::span<const std::byte> build_id = {};  // empty if it has none
};

// Must not throw. The views are good until it returns.
using frame_visitor = void (*)(void* arg, const frame_name& frame);

// Calls `visit` for each function that the call before `pc` is in: inlined functions, innermost
// first, then the real one. Does not call it if the address is in no known code. `pc` is a return
// address; for the address of an instruction, such as that of a fault, pass the one after it.
//
// The first call for code of the program reads the tables of the program, and the first one for
// code of a library reads the library's: 0.1 s, and more for a large file; later calls take some
// us. A call that reads takes a lock of the dynamic loader for a moment, and so does each call for
// code without lines.
// Needs 32 KB of stack: for a machine's stack or a signal's, not for a goroutine's.
void describe(std::uintptr_t pc, frame_visitor visit, void* arg) noexcept;

struct object_name {
  std::string_view name;     // as the linker names it; empty if unknown
  std::uintptr_t start = 0;  // where it begins
};

// The object with static storage that has this address in it. The view is never freed. Costs and
// needs what describe does.
object_name name_of_object(std::uintptr_t address) noexcept;

// Where names come from: this process, or what is read from outside. The functions are as describe,
// name_of_object and for_each_loaded_code.
class symbol_source {
 public:
  virtual void describe(std::uintptr_t pc, frame_visitor visit, void* arg) const noexcept = 0;
  virtual object_name name_of_object(std::uintptr_t address) const noexcept = 0;
  virtual void for_each_code(void (*visit)(void* arg, const loaded_code& code),
                             void* arg) const noexcept = 0;

 protected:
  ~symbol_source() = default;
};

const symbol_source& own_symbols() noexcept;

// What libbacktrace has read of a file; see platform/line_tables.hpp.
struct line_tables {
  backtrace_state* state = nullptr;
  std::uintptr_t bias = 0;  // how far the file lies from where it was linked for
};

// The names in a file that this process need not have loaded. Knows none without libbacktrace. What
// has been read of the file is never freed.
class file_symbols {
 public:
  // `bias`: the addresses that are asked for are larger by this than the file's own.
  file_symbols(const char* path, std::uintptr_t bias) noexcept;

  // False, without a visit: nothing is known of it.
  bool describe(std::uintptr_t pc, frame_visitor visit, void* arg) const noexcept;
  object_name name_of_object(std::uintptr_t address) const noexcept;

 private:
  line_tables tables_;
};

// As describe, without debug information: calls `visit` at most once.
void describe_by_loader(std::uintptr_t pc, frame_visitor visit, void* arg) noexcept;

// Whether describe can know lines, of code that was compiled with debug information.
bool knows_lines() noexcept;

// Whether a C++ compiler made the name.
bool is_mangled(std::string_view name) noexcept;

// A name as in the source, written to `buffer` and cut to its size; or the name itself, if it is
// not one that a C++ compiler made. Without `may_allocate` every name is returned as it is, because
// the C++ library's function for it calls malloc. It also needs some 100 bytes of stack for each
// character of the name: not for a goroutine's stack.
std::string_view demangle(std::string_view name, std::span<char> buffer,
                          bool may_allocate) noexcept;

}  // namespace sley::platform
