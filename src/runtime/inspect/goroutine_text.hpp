// A goroutine in text: its state and its stack, in the layout of Go's tracebacks.
#pragma once

#include <sley/detail/escape.hpp>

#include "base/print.hpp"
#include "platform/symbols.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/label_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace sley::rt {

class deep_stack;

// The machine that runs the goroutine at the moment; null if none does. For figures and dumps.
machine* runner_of(const goroutine& g) noexcept;
// The same, or the machine that the goroutine is bound to.
machine* thread_of(const goroutine& g) noexcept;

// Is its thread in a call that was announced, or asleep in one that was not? Then a signal may
// disturb it.
bool is_in_call(const machine& thread) noexcept;

// As in dumps: a status, or what it waits for, or `syscall` if its thread sleeps in a call. Text
// that is never freed.
std::string_view state_of(const goroutine& g, const machine* thread) noexcept;

// What a goroutine waits for: an object, or the first one of several that is ready.
struct waited_objects {
  static constexpr std::size_t most_shown = 8;

  std::span<const std::uintptr_t> addresses() const noexcept { return {all, count}; }
  // Does nothing if there is no room for it.
  void add(std::uintptr_t address) noexcept {
    if (count < most_shown) all[count++] = address;
  }
  bool operator==(const waited_objects&) const noexcept = default;

  std::uint64_t holder = 0;  // the id of the goroutine that holds it, 0 if that is not known
  std::size_t count = 0;
  std::uintptr_t all[most_shown] = {};  // of a select with more cases the first ones
};

// All facts about a goroutine except its stack.
struct goroutine_view {
  goroutine_view(const goroutine& g, const machine* thread) noexcept;
  goroutine_view() noexcept = default;

  std::string_view name() const noexcept { return {name_bytes, name_size}; }

  std::uint64_t id = 0;
  std::uint64_t family = 0;           // see state/family.hpp
  const label_set* labels = nullptr;  // no reference
  std::uint64_t created_by = 0;       // a goroutine's id, or 0
  std::uintptr_t created_at = 0;
  std::string_view state;     // text that is never freed
  std::uint32_t minutes = 0;  // how long it has waited
  wait reason{};              // if it waits
  waited_objects waits_for;
  bool is_waiting = false;
  bool is_locked = false;  // to its thread
  bool is_leaked = false;  // as far as that was looked for
  bool has_thread = false;
  std::uint8_t name_size = 0;
  char name_bytes[goroutine_extra::max_name] = {};
};

// A frame that is not shown, because it says nothing to the author of a goroutine. Needs 64 KB of
// stack.
bool is_runtimes_own(std::uintptr_t frame,
                     const platform::symbol_source& names = platform::own_symbols()) noexcept;

// A function that describe() finds in a frame and that is not shown, for the same reason.
bool is_glue(const platform::frame_name& name) noexcept;

// May a function that describe() finds where a goroutine was started be shown as its creator? It is
// not if it is inlined and the library's own. The first one that is shown counts.
bool is_creator(const platform::frame_name& name) noexcept;

// For a frame of a file without symbols: "+0x11c9 in /home/me/app (build id 8f3c...)", what
// addr2line and debuginfod find the function and the line by.
void append_address(base::line_writer& line, const platform::frame_name& name) noexcept;

// A goroutine's name as its header has it, ` "worker"`, as put(piece) with each piece in order. No
// piece if it has no name.
template <class Put>
void write_name(const goroutine_view& g, const Put& put) {
  if (g.name_size == 0) return;
  put(" \"");
  detail::escape(g.name(), put);
  put("\"");
}

// Its labels in the same way: ` {kind: "known", tenant: "a"}`.
template <class Put>
void write_labels(const goroutine_view& g, const Put& put) {
  if (g.labels == nullptr) return;
  const char* before = " {";
  for (const debug::label& l : g.labels->all) {
    put(std::exchange(before, ", "));
    detail::escape(l.key, put);
    put(": \"");
    detail::escape(l.value, put);
    put("\"");
  }
  put("}");
}

// Needs 64 KB of stack.
class goroutine_printer {
 public:
  // `may_allocate`: names are as in the source, for which the C++ library calls malloc.
  goroutine_printer(int fd, bool may_allocate,
                    const platform::symbol_source& names = platform::own_symbols()) noexcept
      : fd_(fd), may_allocate_(may_allocate), names_(names) {}

  // Prints all of it, and an empty line.
  void print(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept;
  // `others`: the number of goroutines with the same state and stack that it stands for as well.
  void print_header(const goroutine_view& g, std::size_t others = 0) const noexcept;
  // Prints the part below the header, and an empty line.
  void print_stack(const goroutine_view& g, std::span<const std::uintptr_t> frames) noexcept;
  void print_frames(std::span<const std::uintptr_t> frames) noexcept;
  void print_frames(const deep_stack& stack) noexcept;
  // Where a goroutine was started: the innermost function there that is not the library's own.
  void print_creator(const goroutine_view& g) noexcept;
  int fd() const noexcept { return fd_; }

 private:
  void print_objects(const waited_objects& objects) const noexcept;
  static void visit_frame(void* arg, const platform::frame_name& name);
  static void visit_creator(void* arg, const platform::frame_name& name);
  void put_name(base::line_writer& line, const platform::frame_name& name) const noexcept;
  void put_place(base::line_writer& line, const platform::frame_name& name) const noexcept;

  int fd_;
  bool may_allocate_;
  const platform::symbol_source& names_;
  std::uintptr_t pc_ = 0;
  const goroutine_view* creator_of_ = nullptr;
};

}  // namespace sley::rt
