
#include "runtime/inspect/place_text.hpp"

#include "base/peek.hpp"
#include "platform/cpu.hpp"
#include "platform/symbols.hpp"
#include "platform/unwind/own_process.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/machine.hpp"

#include <string_view>

namespace sley::rt {

namespace {

const parts::stack* own_stack() noexcept {
  const machine* m = this_machine();
  return m == nullptr || m->g == nullptr ? nullptr : m->g->stack;
}

const std::uintptr_t* record_of(std::uintptr_t frame) noexcept {
  return reinterpret_cast<const std::uintptr_t*>(frame - platform::frame_record_below);
}

// Follows frame pointers, as far as they stay on the goroutine's stack. In code that keeps none the
// chain ends early. Returns the number of addresses.
std::size_t walk_frame_pointers(const parts::stack& s, const void* start,
                                std::span<std::uintptr_t> frames) noexcept {
  const auto* at = record_of(reinterpret_cast<std::uintptr_t>(start));
  const auto* low = reinterpret_cast<const std::uintptr_t*>(s.low);
  const auto* end = reinterpret_cast<const std::uintptr_t*>(s.top) - 2;
  std::size_t n = 0;
  while (n < frames.size() && at >= low && at <= end &&
         reinterpret_cast<std::uintptr_t>(at) % sizeof(*at) == 0) {
    frames[n++] = base::peek(at[1]);
    const auto* above = record_of(base::peek(at[0]));
    if (above <= at) break;
    at = above;
  }
  return n;
}

}  // namespace

[[gnu::noinline]] void collect_place(std::span<std::uintptr_t> frames) noexcept {
  const parts::stack* s = own_stack();
  if (s != nullptr && walk_frame_pointers(*s, __builtin_frame_address(0), frames) != 0) return;
  // It is a thread's stack, or one that the program has made. Its bounds are not known, so the
  // kernel reads it, once for all frames.
  const platform::frame_registers here = platform::registers_here();
  const platform::stack_copy stack(here.get(platform::column_sp));
  platform::stack_walk walk(here, stack.memory());
  if (walk.next()) platform::collect_frames(walk, frames);
}

namespace {

struct naming {
  base::line_writer& line;
  std::span<const std::uintptr_t> frames;
  bool is_done = false;

  static bool is_librarys(const platform::frame_name& name) noexcept {
    constexpr std::string_view here = __FILE__;
    constexpr std::string_view sources =
        here.substr(0, here.size() - std::string_view("runtime/inspect/place_text.cpp").size());
    if (name.file.starts_with(sources))
      return true;  // clang's debug information may lack namespaces
    for (const std::string_view start :
         {"_ZN4sley", "_ZNK4sley", "_ZZN4sley", "_ZZNK4sley", "_ZNSt", "_ZNKSt", "_ZSt"}) {
      if (name.function.starts_with(start)) return true;
    }
    return name.file.find("/include/c++/") != std::string_view::npos ||
           name.file.find("/include/sley/") != std::string_view::npos;
  }

  static void visit(void* arg, const platform::frame_name& name) {
    auto* self = static_cast<naming*>(arg);
    if (self->is_done || name.function.empty() || is_librarys(name)) return;
    char buffer[256];
    self->line.text(platform::demangle(name.function, buffer, true)).text(" at ");
    self->line.text(name.file.empty() ? std::string_view("??") : name.file);
    if (name.line != 0) self->line.text(":").dec(name.line);
    self->is_done = true;
  }

  static void run(void* arg) {
    auto* self = static_cast<naming*>(arg);
    for (const std::uintptr_t pc : self->frames) {
      if (pc != 0 && !self->is_done) platform::describe(pc, &visit, self);
    }
    if (!self->is_done) self->line.text("a place that has no name");
  }
};

}  // namespace

void append_place(base::line_writer& line, std::span<const std::uintptr_t> frames) noexcept {
  naming n{line, frames};
  run_on_large_stack(&naming::run, &n);
}

}  // namespace sley::rt
